//! How many writes a second the in-memory table takes: millions of them have to be affordable.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use limiter_aggregator::item::number;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::UpdateOutcome;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::write::{Action, Condition, Update};

const SHARDS: usize = 1000;

/// A client's debit of one limit on a bucket of some thirty attributes.
fn debit(shard: usize) -> Update {
    let add = |attribute: &str, delta| Action::Add {
        attribute: attribute.to_owned(),
        delta,
    };
    Update {
        key: ItemKey {
            pk: format!("ns/BUCKET#entity-{shard}#model#0"),
            sk: "#STATE".to_owned(),
        },
        actions: vec![add("b_tpm_tk", -1000), add("b_tpm_tc", 1000)],
        conditions: vec![Condition::Absent("disabled".to_owned())],
        return_item_on_failure: false,
    }
}

/// The refill of two limits, with the conditions of R6.
fn refill(shard: usize, rf: i128) -> Update {
    let add = |attribute: &str| Action::Add {
        attribute: attribute.to_owned(),
        delta: 500,
    };
    let mut conditions = vec![
        Condition::as_read("rf", Some(number(rf))),
        Condition::as_read("vu", None),
    ];
    for limit in ["rpm", "tpm"] {
        conditions.push(Condition::as_read(format!("b_{limit}_cp"), Some(number(100_000))));
        conditions.push(Condition::compare(
            format!("b_{limit}_tk"),
            limiter_aggregator::write::Comparison::AtMost,
            i128::from(i64::MAX),
        ));
    }
    let actions = vec![
        add("b_rpm_tk"),
        add("b_tpm_tk"),
        Action::Set {
            attribute: "rf".to_owned(),
            value: number(rf + 1),
        },
    ];
    Update {
        actions,
        conditions,
        ..debit(shard)
    }
}

fn filled(table: &MemoryTable) {
    for shard in 0..SHARDS {
        let mut actions = vec![Action::Set {
            attribute: "rf".to_owned(),
            value: number(0),
        }];
        for limit in ["rpm", "tpm", "wcu"] {
            for field in ["tk", "cp", "ra", "rp", "tc", "gc", "ws", "wa"] {
                let attribute = format!("b_{limit}_{field}");
                actions.push(Action::Set {
                    attribute,
                    value: number(100_000),
                });
            }
        }
        let seeded = table.apply_update(&Update {
            actions,
            conditions: vec![],
            ..debit(shard)
        });
        assert_eq!(seeded, Ok(UpdateOutcome::Applied));
    }
}

fn writes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memory_table");
    group.throughput(Throughput::Elements(1));
    let debits: Vec<Update> = (0..SHARDS).map(debit).collect();
    for (name, table) in [
        ("debit", MemoryTable::new()),
        ("debit, streamed", MemoryTable::with_stream("2026-01-01T00:00:00.000")),
    ] {
        filled(&table);
        table.take_records();
        let mut n = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                n += 1;
                if n % SHARDS == 0 {
                    table.take_records();
                }
                black_box(table.apply_update(black_box(&debits[n % SHARDS])))
            });
        });
    }
    let table = MemoryTable::new();
    filled(&table);
    let mut n = 0;
    group.bench_function("refill, built and applied", |bencher| {
        bencher.iter(|| {
            let (shard, round) = (n % SHARDS, n / SHARDS);
            n += 1;
            let outcome = table.apply_update(&refill(shard, round as i128));
            assert_eq!(outcome, Ok(UpdateOutcome::Applied));
        });
    });
    group.finish();
}

criterion_group!(benches, writes);
criterion_main!(benches);
