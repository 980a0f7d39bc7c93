//! What a new shard is to be: its item, and what its donors give for it.

use std::collections::BTreeMap;

use limiter_aggregator::bucket::{Bucket, LimitField, WCU};
use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::plan::funding::{Funding, Grant, fund};
use limiter_aggregator::plan::quota::{Period, grant_size};
use limiter_aggregator::units::{EpochMillis, Millitokens, ShardCount, ShardId};
use limiter_aggregator::write::{Check, Condition, Put, Transaction, TransactionAction, Update};

use super::{kinds, quotas};
use crate::client::materialise::Opened;
use crate::client::slow::Begun;
use crate::client::{Client, add, as_read, at_least, equals, field, integer, shard_key};
use crate::scenario::{Configuration, GROUP, HALF_MS, HALVED, Kind, PERIOD_MS, RESETS};

/// A shard to be made.
pub struct Plan {
    shard: u32,
    count: u32,
    item: Item,
    debits: BTreeMap<u32, Update>,
    window: Option<i64>,
    joined: bool,
    configuration: Configuration,
}

/// How one quota is funded.
pub struct Granted {
    kind: Kind,
    period: Period,
    funding: Funding,
}

impl Granted {
    /// Whether no sibling was granted the slot in this period.
    pub fn is_fresh(&self) -> bool {
        matches!(self.funding, Funding::Fresh { .. })
    }
}

fn last_edge(client: &Client) -> i64 {
    client.now - client.now.rem_euclid(PERIOD_MS)
}

impl Plan {
    /// A shard without limits, but for its write budget.
    pub fn new(client: &Client, configuration: Configuration, shard: u32, count: u32, owner: Option<&Item>) -> Self {
        let mut plan = Self {
            shard,
            count,
            item: Item::new(),
            debits: BTreeMap::new(),
            window: None,
            joined: false,
            configuration,
        };
        plan.base(client, owner);
        plan
    }

    fn count(&self) -> ShardCount {
        ShardCount::from_stored(Some(self.count.into()))
    }

    /// The balance that a limit begins with.
    pub fn balance(&self, kind: Kind) -> i128 {
        integer(&self.item, &field(kind.limit(), LimitField::Tk)).unwrap_or(0)
    }

    /// Whether a sibling gives anything.
    pub fn moves(&self) -> bool {
        !self.debits.is_empty()
    }

    /// The window that other shards have to be told of. Shard 0 tells nobody.
    pub fn opens(&self) -> Option<Opened> {
        let start = self.window.filter(|_| !self.joined && self.shard != 0)?;
        Some(Opened {
            limit: Kind::Session.limit().to_owned(),
            start,
            length_s: self.configuration.window_s,
        })
    }

    /// The periods that the shard begins with.
    pub fn begun(&self, client: &Client) -> Vec<Begun> {
        let calendar = client
            .scenario
            .has(Kind::Calendar)
            .then(|| Begun::Edge(last_edge(client)));
        calendar.into_iter().chain(self.window.map(Begun::Window)).collect()
    }

    /// How every quota is funded.
    pub fn grants(&self, client: &Client, siblings: &BTreeMap<u32, Item>) -> Vec<Granted> {
        let grant = |kind: Kind| {
            let period = match kind {
                Kind::Calendar => Period::Calendar {
                    edge: Some(EpochMillis(last_edge(client))),
                },
                Kind::Drip | Kind::Session => Period::Session,
            };
            let capacity = self.configuration.parameters(kind).capacity;
            let now = EpochMillis(client.now);
            let mut current = Vec::new();
            for (sibling, item) in siblings {
                let Ok(bucket) = Bucket::from_item(item) else { continue };
                let Some(limit) = bucket.limit(kind.limit()) else {
                    continue;
                };
                if let Some(balance) = limit.balance.filter(|_| period.is_current(&bucket.fields, limit, now)) {
                    current.push(Grant {
                        shard: ShardId(*sibling),
                        size: grant_size(limit, bucket.fields.shard_count(), capacity),
                        balance,
                    });
                }
            }
            let funding = fund(ShardId(self.shard), self.count(), capacity, &current);
            Granted { kind, period, funding }
        };
        quotas(client).map(grant).collect()
    }

    /// Every limit. `window`: the one on shard 0.
    pub fn limits(
        &mut self,
        client: &Client,
        grants: &[Granted],
        siblings: &BTreeMap<u32, Item>,
        window: Option<i64>,
        moves: bool,
    ) {
        let mut boundary = None;
        let mut end_at = |end: i64| boundary = boundary.into_iter().chain([end]).min();
        for kind in kinds(client) {
            self.parameters(client, kind);
            if kind == Kind::Calendar {
                end_at(last_edge(client) + PERIOD_MS);
            }
            if kind == Kind::Session {
                end_at(self.join(client, window) + self.window_ms());
            }
            if kind == Kind::Drip && client.scenario.scheduled {
                end_at(client.now - client.now.rem_euclid(HALF_MS) + HALF_MS);
            }
        }
        for grant in grants {
            // Where shard 0's window has ended a new period begins, and owes nobody anything.
            let ended = grant.kind == Kind::Session && window.is_some() && !self.joined;
            if !ended {
                self.fund(grant, siblings, moves);
            }
        }
        self.item
            .extend(boundary.map(|boundary| ("vu".to_owned(), number(boundary.into()))));
    }

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
        if client.scenario.has(Kind::Calendar) {
            texts.extend([("rsched", RESETS.to_owned()), ("sched_tz", "UTC".to_owned())]);
        }
        for (name, value) in texts {
            self.item.insert(name.to_owned(), text(value));
        }
        self.item.insert("cascade".to_owned(), AttributeValue::Bool(false));
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

    /// A limit with its whole share.
    fn parameters(&mut self, client: &Client, kind: Kind) {
        let parameters = self.configuration.parameters(kind);
        self.put(kind, LimitField::Cp, parameters.capacity.0);
        self.put(kind, LimitField::Ra, parameters.refill.0);
        self.put(kind, LimitField::Rp, parameters.period_ms);
        self.put(kind, LimitField::Tc, 0);
        let in_force = match kind {
            Kind::Drip => Millitokens(client.scenario.in_force(parameters.capacity.0, client.now)),
            Kind::Calendar | Kind::Session => parameters.capacity,
        };
        self.put(kind, LimitField::Tk, in_force.share(self.count()).0);
        if kind == Kind::Drip && client.scenario.scheduled {
            self.item.insert(field(kind.limit(), LimitField::Sched), text(HALVED));
        }
        if kind != Kind::Drip {
            self.put(kind, LimitField::Gc, self.count.into());
        }
        // The calendar quota's schedule is the item's, and the others do not inherit it.
        if kind != Kind::Calendar && client.scenario.has(Kind::Calendar) {
            self.item.insert(field(kind.limit(), LimitField::Rsched), text("-"));
        }
    }

    fn window_ms(&self) -> i64 {
        self.configuration.window_s * 1000
    }

    /// The window of a new shard: shard 0's, if it is live, or one that opens now.
    fn join(&mut self, client: &Client, theirs: Option<i64>) -> i64 {
        let live = theirs.filter(|start| start + self.window_ms() > client.now);
        let start = live.unwrap_or(client.now);
        self.joined = live.is_some();
        self.window = Some(start);
        for name in [LimitField::Ws, LimitField::Wa] {
            self.put(Kind::Session, name, start.into());
        }
        self.put(Kind::Session, LimitField::Rsa, self.configuration.window_s.into());
        self.item.insert("rf".to_owned(), number(client.now.max(start).into()));
        start
    }

    fn fund(&mut self, grant: &Granted, siblings: &BTreeMap<u32, Item>, moves: bool) {
        let funding = grant.funding;
        let held_back = !moves && !grant.is_fresh();
        self.put(
            grant.kind,
            LimitField::Tk,
            if held_back { 0 } else { funding.amount().0 },
        );
        if let Funding::Move { donor, amount } = funding
            && amount > Millitokens::ZERO
            && moves
            && let Some(item) = siblings.get(&donor.shard.0)
        {
            self.debit(grant.kind, grant.period, donor, amount.0, item);
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

    /// The item with an amount consumed from it, and the transaction that makes it. The owner's check is the last.
    pub fn transaction(&self, owner: Option<&Item>, amount: i128, client: &Client) -> (Item, Transaction) {
        let mut item = self.item.clone();
        for kind in kinds(client) {
            item.insert(field(kind.limit(), LimitField::Tk), number(self.balance(kind) - amount));
            item.insert(field(kind.limit(), LimitField::Tc), number(amount));
        }
        let conditions = match owner {
            Some(owner) => vec![Condition::item_exists(), as_read(owner, "pgen"), as_read(owner, "pinc")],
            None => vec![Condition::item_absent()],
        };
        let mut actions = vec![TransactionAction::Put(Put {
            item: item.clone(),
            conditions: vec![Condition::item_absent()],
        })];
        actions.extend(self.debits.values().cloned().map(TransactionAction::Update));
        actions.push(TransactionAction::Check(Check {
            key: GROUP.meta(),
            conditions,
        }));
        let transaction = Transaction {
            actions,
            token: client.token(),
        };
        (item, transaction)
    }
}
