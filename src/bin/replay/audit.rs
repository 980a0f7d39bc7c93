//! `replay audit`: reads every bucket of a table, writes nothing, and says what does not agree.

use std::collections::BTreeMap;
use std::process::ExitCode;

use aws_sdk_dynamodb::types::AttributeValue;
use limiter_aggregator::audit::{Finding, audit_bucket};
use limiter_aggregator::clock;
use limiter_aggregator::item::{self, Item};
use limiter_aggregator::key::{BucketGroup, BucketKey};
use limiter_aggregator::units::ShardId;
use serde_json::{Value, json};

use crate::args::AuditArguments;
use crate::failure::{self, Failure};
use crate::names::{Names, printable};
use crate::output::Output;
use crate::run::settings;
use crate::target::{service, table_client};

/// A broken invariant, for the shell.
const BROKEN: u8 = 1;

/// Shards by bucket: namespace, entity, resource.
type Buckets = BTreeMap<(String, String, String), BTreeMap<ShardId, Item>>;

/// Audits the table, or one entity of it.
///
/// # Errors
/// Where the table cannot be read.
pub async fn audit(arguments: &AuditArguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let (_, hash_key) = settings()?;
    let names = Names::new(arguments.output.show_ids, hash_key.as_ref());
    let buckets = read(arguments).await?;
    let now = arguments.now.unwrap_or_else(clock::now);
    let mut found: Vec<(String, Finding)> = Vec::new();
    for ((namespace, entity, resource), shards) in &buckets {
        let group = BucketGroup {
            namespace,
            entity,
            resource,
        };
        let name = names.bucket(&group);
        found.extend(
            audit_bucket(shards, now)
                .into_iter()
                .map(|finding| (name.clone(), finding)),
        );
    }
    let shards: usize = buckets.values().map(BTreeMap::len).sum();
    match arguments.output.json {
        true => print_json(output, buckets.len(), shards, &found),
        false => print_text(output, buckets.len(), shards, &found),
    }
    let is_broken = found.iter().any(|(_, finding)| finding.is_broken_invariant());
    Ok(if is_broken {
        ExitCode::from(BROKEN)
    } else {
        ExitCode::SUCCESS
    })
}

async fn read(arguments: &AuditArguments) -> Result<Buckets, Failure> {
    let client = table_client(&service(arguments.place.endpoint_url.as_deref()).await);
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let mut scan = client
        .scan()
        .table_name(&arguments.place.table)
        .consistent_read(true)
        .expression_attribute_values(":state", text("#STATE"));
    scan = match &arguments.entity {
        None => scan.filter_expression("SK = :state"),
        Some(entity) => scan
            .filter_expression("SK = :state AND entity_id = :entity")
            .expression_attribute_values(":entity", text(entity)),
    };
    let mut pages = scan.into_paginator().items().send();
    let mut buckets = Buckets::new();
    while let Some(read) = pages.next().await {
        let attributes = read.map_err(|error| failure::refused("Scan", &arguments.place.table, &error))?;
        let item: Item = attributes
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        let Some(key) = item::key_of(&item) else { continue };
        // Whatever else has this SK is no bucket.
        let Some(BucketKey { group, shard }) = BucketKey::parse(&key.pk) else {
            continue;
        };
        let name = [group.namespace, group.entity, group.resource].map(str::to_owned);
        buckets.entry(name.into()).or_default().insert(shard, item);
    }
    Ok(buckets)
}

fn counts(found: &[(String, Finding)]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, finding) in found {
        *counts.entry(finding.kind()).or_insert(0) += 1;
    }
    counts
}

fn print_text(output: &mut Output, buckets: usize, shards: usize, found: &[(String, Finding)]) {
    output.line(format!("{buckets} buckets, {shards} shards"));
    for (kind, count) in counts(found) {
        output.line(format!("  {kind}: {count}"));
    }
    let (broken, waiting): (Vec<_>, Vec<_>) = found.iter().partition(|(_, finding)| finding.is_broken_invariant());
    for (title, findings) in [
        ("broken invariants", broken),
        ("mend themselves with the next write", waiting),
    ] {
        if !findings.is_empty() {
            output.line(format!("{title}:"));
        }
        for (bucket, finding) in findings {
            output.line(format!("  bucket {bucket}: {}", in_words(finding)));
        }
    }
    if found.is_empty() {
        output.line("nothing found");
    }
}

fn in_words(finding: &Finding) -> String {
    let shard = finding
        .shard()
        .map(|shard| format!("shard {shard}: "))
        .unwrap_or_default();
    let limit = finding.limit().map(printable).unwrap_or_default();
    let said = match finding {
        Finding::Unreadable { .. } => "a consumption counter is no number".to_owned(),
        Finding::UndecodableSchedule { .. } => "a schedule cannot be decoded; nobody refills it".to_owned(),
        Finding::OverGranted { held, granted, .. } => {
            format!(
                "{limit}: the shards hold {} of {} tokens",
                held.floor_tokens(),
                granted.floor_tokens()
            )
        }
        Finding::AboveCapacity { balance, capacity, .. } => {
            format!(
                "{limit}: holds {} of {} tokens",
                balance.floor_tokens(),
                capacity.floor_tokens()
            )
        }
        Finding::AboveCeiling { balance, ceiling, .. } => {
            format!(
                "{limit}: holds {} where its share is {} tokens",
                balance.floor_tokens(),
                ceiling.floor_tokens()
            )
        }
        Finding::LaggingCount { count, highest, .. } => format!("knows {} shards of {}", count.get(), highest.get()),
        Finding::StaggeredWindow { .. } => format!("{limit}: its window is not the one that is live"),
        Finding::UnappliedWindow { .. } => format!("{limit}: its balance is not of the live window yet"),
        Finding::MissingShard { .. } => "does not exist; a client creates it on first use".to_owned(),
        Finding::DeadValidUntil { .. } => "its vu has passed; the next client evaluates it".to_owned(),
    };
    format!("{shard}{said}")
}

fn print_json(output: &mut Output, buckets: usize, shards: usize, found: &[(String, Finding)]) {
    let head: Value = json!({ "buckets": buckets, "shards": shards, "findings": counts(found) });
    output.line(head.to_string());
    for (bucket, finding) in found {
        let line = json!({
            "bucket": bucket, "kind": finding.kind(), "broken": finding.is_broken_invariant(),
            "shard": finding.shard().map(|shard| shard.0), "limit": finding.limit(), "explanation": in_words(finding),
        });
        output.line(line.to_string());
    }
}
