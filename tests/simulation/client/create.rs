//! A shard that does not exist, made by the client that needs it: quotas funded by a move where a sibling was granted
//! the slot (ADR-133, ADR-145), a live window joined (ADR-140).

use std::collections::BTreeMap;

use limiter_aggregator::bucket::{Bucket, LimitField, WCU};
use limiter_aggregator::item::{Item, number, text};
use limiter_aggregator::plan::funding::{Funding, Grant, fund};
use limiter_aggregator::plan::quota::{Period, grant_size};
use limiter_aggregator::table::{Consistency, Table, TransactionOutcome};
use limiter_aggregator::units::{EpochMillis, Millitokens, ShardCount, ShardId};
use limiter_aggregator::write::{Check, Comparison, Condition, Put, Transaction, TransactionAction, Update};

use super::acquire::propagate_window;
use super::refund::Lease;
use super::{Client, Ended, add, as_read, at_least, equals, field, instant, integer, set, shard_key};
use crate::scenario::{GROUP, Kind, PERIOD_MS, RESETS, WINDOW_MS, WINDOW_S};

/// A shard to be made.
struct Plan {
    shard: u32,
    count: u32,
    item: Item,
    debits: BTreeMap<u32, Update>,
    moves: bool,
    opens: Option<i64>,
}

/// Makes a shard and admits the amount on it, if the shard allows that. `None`: somebody moved first, start over.
pub async fn create(client: &Client, shard: u32, amount: i128) -> Option<Ended> {
    client.hold();
    let made = try_create(client, shard, amount).await;
    client.release();
    made
}

async fn try_create(client: &Client, shard: u32, amount: i128) -> Option<Ended> {
    let Ok(owner) = client.table.read(&[GROUP.meta()], Consistency::Eventual).await else {
        return Some(Ended::Done);
    };
    let owner = owner.into_iter().next().flatten();
    let others: Vec<u32> = (0..client.known.get()).filter(|other| *other != shard).collect();
    let keys: Vec<_> = others.iter().map(|other| shard_key(*other)).collect();
    let read = if keys.is_empty() {
        Ok(vec![])
    } else {
        client.table.read(&keys, Consistency::Eventual).await
    };
    let Ok(read) = read else { return Some(Ended::Done) };
    let siblings: BTreeMap<u32, Item> = others
        .into_iter()
        .zip(read)
        .filter_map(|(other, item)| Some((other, item?)))
        .collect();
    if !client.scenario.open_fan_outs {
        siblings.values().for_each(|item| client.learn(item));
    }
    let plan = plan(client, shard, &siblings, owner.as_ref());
    let admitted = kinds(client).all(|kind| balance(&plan.item, kind.limit()) >= amount);
    if !admitted && !plan.moves {
        return Some(Ended::Refused);
    }
    let transaction = plan.transaction(owner.as_ref(), if admitted { amount } else { 0 }, client);
    match client.table.transact(&transaction).await {
        Ok(TransactionOutcome::Applied) => {}
        Ok(TransactionOutcome::LostRace { .. }) => return None,
        Err(_) => return Some(Ended::Done),
    }
    repair(client, &plan).await;
    if let Some(start) = plan.opens {
        propagate_window(client, shard, Kind::Session.limit(), start).await;
    }
    Some(if admitted {
        Ended::Admitted(Lease::new(client, shard, amount))
    } else {
        Ended::Refused
    })
}

fn kinds(client: &Client) -> impl Iterator<Item = Kind> + use<> {
    let scenario = client.scenario;
    Kind::ALL.into_iter().filter(move |kind| scenario.has(*kind))
}

fn balance(item: &Item, limit: &str) -> i128 {
    integer(item, &field(limit, LimitField::Tk)).unwrap_or(0)
}

/// A doubling that landed meanwhile could not reach the shard: it is raised, with the size of its grant (ADR-145).
async fn repair(client: &Client, plan: &Plan) {
    let has_quota = kinds(client).any(|kind| kind != Kind::Drip);
    if plan.shard == 0 || !has_quota {
        return;
    }
    let Some(zero) = client.read_shard(0).await else { return };
    let count = integer(&zero, "shard_count").unwrap_or(1);
    if count <= plan.count.into() {
        return;
    }
    let mut actions = vec![set("shard_count", count)];
    for kind in kinds(client).filter(|kind| *kind != Kind::Drip) {
        actions.push(set(field(kind.limit(), LimitField::Gc), plan.count.into()));
    }
    let conditions = vec![Condition::compare("shard_count", Comparison::Less, count)];
    let update = Update {
        key: shard_key(plan.shard),
        actions,
        conditions,
        return_item_on_failure: false,
    };
    let _raised = client.table.update(&update).await;
}

fn plan(client: &Client, shard: u32, siblings: &BTreeMap<u32, Item>, owner: Option<&Item>) -> Plan {
    let count = client.known.get().max(shard + 1);
    let mut plan = Plan {
        shard,
        count,
        item: Item::new(),
        debits: BTreeMap::new(),
        moves: false,
        opens: None,
    };
    plan.base(client, owner);
    let mut boundary = None;
    for kind in kinds(client) {
        plan.parameters(client, kind);
        match kind {
            Kind::Drip => {
                let share = client
                    .configuration
                    .borrow()
                    .parameters(kind)
                    .capacity
                    .share(shard_count(count));
                plan.put(kind, LimitField::Tk, share.0);
            }
            Kind::Calendar => {
                let edge = client.now - client.now.rem_euclid(PERIOD_MS);
                boundary = boundary.into_iter().chain([edge + PERIOD_MS]).min();
                plan.fund(
                    client,
                    kind,
                    Period::Calendar {
                        edge: Some(EpochMillis(edge)),
                    },
                    siblings,
                );
            }
            Kind::Session => {
                let start = plan.window(client, siblings);
                boundary = boundary.into_iter().chain([start + WINDOW_MS]).min();
                plan.fund(client, kind, Period::Session, siblings);
            }
        }
    }
    if let Some(boundary) = boundary {
        plan.item.insert("vu".to_owned(), number(boundary.into()));
    }
    plan
}

fn shard_count(count: u32) -> ShardCount {
    ShardCount::from_stored(Some(count.into()))
}

impl Plan {
    fn put(&mut self, kind: Kind, name: LimitField, value: i128) {
        self.item.insert(field(kind.limit(), name), number(value));
    }

    fn base(&mut self, client: &Client, owner: Option<&Item>) {
        let key = shard_key(self.shard);
        let mut texts = vec![
            ("PK", key.pk),
            ("SK", key.sk),
            ("entity_id", "e".into()),
            ("resource", "r".into()),
        ];
        texts.extend(GROUP.bucket_index_keys(ShardId(self.shard)));
        for (name, value) in texts {
            self.item.insert(name.to_owned(), text(value));
        }
        for name in ["pgen", "pinc"] {
            if let Some(stamp) = owner.and_then(|owner| owner.get(name)) {
                self.item.insert(name.to_owned(), stamp.clone());
            }
        }
        self.item.insert("rf".to_owned(), number(client.now.into()));
        self.item.insert("shard_count".to_owned(), number(self.count.into()));
        let budget = client.scenario.write_budget * 1000;
        for (name, value) in [
            (LimitField::Tk, budget),
            (LimitField::Cp, budget),
            (LimitField::Ra, budget),
            (LimitField::Rp, 10_000),
            (LimitField::Tc, 0),
        ] {
            self.item.insert(field(WCU, name), number(value));
        }
    }

    fn parameters(&mut self, client: &Client, kind: Kind) {
        let parameters = client.configuration.borrow().parameters(kind);
        self.put(kind, LimitField::Cp, parameters.capacity.0);
        self.put(kind, LimitField::Ra, parameters.refill.0);
        self.put(kind, LimitField::Rp, parameters.period_ms);
        self.put(kind, LimitField::Tc, 0);
        if kind == Kind::Calendar {
            self.item.insert(field(kind.limit(), LimitField::Rsched), text(RESETS));
        }
    }

    /// The window of a new shard: shard 0's, if it is live, or one that opens now.
    fn window(&mut self, client: &Client, siblings: &BTreeMap<u32, Item>) -> i64 {
        let limit = Kind::Session.limit();
        let theirs = siblings
            .get(&0)
            .and_then(|item| instant(item, &field(limit, LimitField::Ws)));
        let live = theirs.filter(|start| start + WINDOW_MS > client.now);
        let start = live.unwrap_or(client.now);
        self.opens = if live.is_none() { Some(start) } else { None };
        for name in [LimitField::Ws, LimitField::Wa] {
            self.put(Kind::Session, name, start.into());
        }
        self.put(Kind::Session, LimitField::Rsa, WINDOW_S.into());
        self.item.insert("rf".to_owned(), number(client.now.max(start).into()));
        start
    }

    fn fund(&mut self, client: &Client, kind: Kind, period: Period, siblings: &BTreeMap<u32, Item>) {
        let capacity = client.configuration.borrow().parameters(kind).capacity;
        let now = EpochMillis(client.now);
        let mut grants = Vec::new();
        for (sibling, item) in siblings {
            let Ok(bucket) = Bucket::from_item(item) else { continue };
            let Some(limit) = bucket.limit(kind.limit()) else {
                continue;
            };
            if let Some(balance) = limit.balance.filter(|_| period.is_current(&bucket.fields, limit, now)) {
                let size = grant_size(limit, bucket.fields.shard_count(), capacity);
                grants.push(Grant {
                    shard: ShardId(*sibling),
                    size,
                    balance,
                });
            }
        }
        let funding = fund(ShardId(self.shard), shard_count(self.count), capacity, &grants);
        self.put(kind, LimitField::Tk, funding.amount().0);
        self.put(kind, LimitField::Gc, self.count.into());
        if let Funding::Move { donor, amount } = funding
            && amount > Millitokens::ZERO
            && let Some(item) = siblings.get(&donor.shard.0)
        {
            self.moves = true;
            self.debit(kind, period, donor, amount.0, item);
        }
    }

    fn debit(&mut self, kind: Kind, period: Period, donor: Grant, amount: i128, item: &Item) {
        let (balance, size) = (field(kind.limit(), LimitField::Tk), field(kind.limit(), LimitField::Gc));
        let unrecorded = Condition::All(vec![Condition::Absent(size.clone()), as_read(item, "shard_count")]);
        let mut conditions = vec![
            Condition::item_exists(),
            at_least(&balance, amount),
            Condition::Any(vec![equals(size, donor.size.get().into()), unrecorded]),
        ];
        match period {
            Period::Calendar { edge } => conditions.extend(edge.map(|edge| at_least("rf", edge.0.into()))),
            Period::Session => conditions.push(as_read(item, &field(kind.limit(), LimitField::Wa))),
        }
        let new = || Update {
            key: shard_key(donor.shard.0),
            actions: vec![],
            conditions: vec![],
            return_item_on_failure: false,
        };
        let update = self.debits.entry(donor.shard.0).or_insert_with(new);
        update.conditions.extend(conditions);
        update.actions.push(add(balance, -amount));
    }

    fn transaction(&self, owner: Option<&Item>, amount: i128, client: &Client) -> Transaction {
        let mut item = self.item.clone();
        for kind in kinds(client) {
            item.insert(
                field(kind.limit(), LimitField::Tk),
                number(balance(&self.item, kind.limit()) - amount),
            );
            item.insert(field(kind.limit(), LimitField::Tc), number(amount));
        }
        let conditions = match owner {
            Some(owner) => vec![Condition::item_exists(), as_read(owner, "pgen"), as_read(owner, "pinc")],
            None => vec![Condition::item_absent()],
        };
        let mut actions = vec![TransactionAction::Put(Put {
            item,
            conditions: vec![Condition::item_absent()],
        })];
        actions.extend(self.debits.values().cloned().map(TransactionAction::Update));
        actions.push(TransactionAction::Check(Check {
            key: GROUP.meta(),
            conditions,
        }));
        Transaction {
            actions,
            token: client.token(),
        }
    }
}
