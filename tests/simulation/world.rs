//! The simulated stack: one table, its stream, clients, an operator and two aggregators, moved one step at a time.
//!
//! Decides nothing by itself: the same scenario and the same steps give the same run. A step that does not apply, as
//! may happen in a shortened trace, does nothing.

mod actor;
mod bystander;
pub mod calls;
mod delivery;
mod old_item;
mod quiet;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use limiter_aggregator::item::{AttributeValue, Item, number, text};
use limiter_aggregator::table::memory::{MemoryTable, StreamRecord};
use limiter_aggregator::units::EpochMillis;

use crate::audit::{Auditor, Change, Event, Snapshot, Verdict, Writer, changes_of, left_alone, simulated};
use crate::client::{self, Client, Ended, Lease, owner, shard_key};
use crate::coverage::Coverage;
use crate::port::{Call, StepTable};
use crate::scenario::{Configuration, GROUP, Kind, START, Scenario};
use crate::step::{Fate, Step, jump};
use actor::{Actor, Work};
use calls::carry_out;
use delivery::Reader;
use old_item::old_item;

/// Everything.
pub struct World {
    pub scenario: Scenario,
    pub coverage: Coverage,
    /// Whether actors keep a hash of what they were answered: only a search compares it.
    pub remembers: bool,
    memory: MemoryTable,
    now: i64,
    clients: Vec<ClientState>,
    readers: Vec<Reader>,
    actors: BTreeMap<u8, Actor>,
    log: Vec<LogRecord>,
    auditor: Auditor,
    configuration: Rc<RefCell<Configuration>>,
    transactions: Rc<Cell<u64>>,
    uninterrupted: Rc<Cell<bool>>,
    life: u32,
    lost: bool,
    /// Whether a call of an aggregator was refused for good: what it owed is never done.
    denied: bool,
    /// Where in the log the count last rose.
    last_rise: Option<usize>,
    /// Whether any reader passed records over.
    passed_over: bool,
    /// Shard 0's count, and whether its write budget is short.
    pressure: (i128, bool),
}

struct ClientState {
    known: Rc<Cell<u32>>,
    skew: i64,
    lease: Option<Lease>,
}

struct LogRecord {
    record: StreamRecord,
    json: String,
}

impl World {
    /// How many clients there are; the operator is the actor after them, then come the aggregators.
    pub const CLIENTS: u8 = 3;
    /// How many aggregators there are.
    pub const AGGREGATORS: u8 = 2;
    const OPERATOR: u8 = Self::CLIENTS;

    /// A fresh table in a scenario.
    pub fn new(scenario: Scenario) -> Self {
        let mut rng = fastrand::Rng::with_seed(scenario.seed ^ 0xc10c);
        let mut skew = || {
            if scenario.skew == 0 {
                0
            } else {
                rng.i64(-scenario.skew..=scenario.skew)
            }
        };
        let memory = MemoryTable::with_stream("2026-01-01T00:00:00.000");
        let clients = (0..Self::CLIENTS)
            .map(|_| ClientState {
                known: Rc::new(Cell::new(1)),
                skew: skew(),
                lease: None,
            })
            .collect();
        let readers = (0..Self::AGGREGATORS)
            .map(|_| Reader {
                checkpoint: 0,
                skew: skew(),
            })
            .collect();
        let mut world = Self {
            scenario,
            coverage: Coverage::default(),
            remembers: false,
            memory,
            now: START,
            clients,
            readers,
            actors: BTreeMap::new(),
            log: Vec::new(),
            auditor: Auditor::new(scenario),
            configuration: Rc::new(RefCell::new(Configuration::default())),
            transactions: Rc::new(Cell::new(0)),
            uninterrupted: Rc::new(Cell::new(false)),
            life: 1,
            lost: false,
            denied: false,
            last_rise: None,
            passed_over: false,
            pressure: (1, false),
        };
        world.memory.set_now(EpochMillis(START));
        world.make_entity();
        world.settle_records(Writer::Removal, world.now, None).unwrap_or(());
        world
    }

    /// The entity, and in some scenarios what an old release has made of it already.
    fn make_entity(&self) {
        self.put(&owner(self.life));
        if self.scenario.old_items {
            for shard in 0..2 {
                let configuration = self.configuration.borrow();
                self.put(&old_item(shard, &self.scenario, &configuration, self.life, self.now));
            }
        }
    }

    fn put(&self, item: &Item) {
        assert_eq!(
            self.memory.put_item(item),
            Ok(()),
            "the simulation's own items can be stored"
        );
    }

    /// Shard 0's count, and whether its write budget is short: what the scheduler favours growth by.
    pub fn pressure(&self) -> (i128, bool) {
        self.pressure
    }

    /// Actors with work under way.
    pub fn busy(&self) -> Vec<u8> {
        self.actors.keys().copied().collect()
    }

    /// One step.
    pub fn step(&mut self, step: Step) -> Verdict {
        match step {
            Step::Pass(_) | Step::Edge(_) | Step::WindowEnd(_) => {
                self.now = jump(step, self.now, self.newest_window_end());
                self.memory.set_now(EpochMillis(self.now));
                Ok(())
            }
            Step::Call(actor, place, fate) => self.call(actor, place, fate),
            Step::Acquire(number, draw, amount) => self.begin_request(number, Writer::Client, |client| {
                Box::pin(client::acquire(client, draw, amount.into()))
            }),
            Step::OldAcquire(number, draw, amount) => self.begin_request(number, Writer::OldRelease, |client| {
                Box::pin(client::old_acquire(client, draw, amount.into()))
            }),
            Step::Adjust(number, adjustment) => match self
                .clients
                .get_mut(usize::from(number))
                .and_then(|own| own.lease.take())
            {
                Some(lease) => self.begin_request(number, Writer::Adjuster, |client| {
                    Box::pin(client::adjust(client, lease, adjustment))
                }),
                None => Ok(()),
            },
            Step::Double(number) => {
                self.begin_request(number, Writer::Client, |client| Box::pin(client::outgrow(client)))
            }
            Step::Operate(operation) => self.begin(Self::OPERATOR, 0, 0, Writer::Operator, |client| {
                Box::pin(client::operate(client, operation))
            }),
            Step::Deliver(number, delivery) => self.deliver(number, delivery),
            Step::Lose(number, records) => self.lose(number, records),
            Step::Remove(shard) => self.remove(shard),
            Step::Rebirth(reborn) => self.rebirth(reborn),
            Step::BadSchedule(bad) => self.bad_schedule(bad),
            Step::Bystander(oddity) => self.bystander(oddity),
        }
    }

    fn begin_request(&mut self, number: u8, writer: Writer, work: impl FnOnce(Client) -> Work) -> Verdict {
        let Some(state) = self.clients.get(usize::from(number)) else {
            return Ok(());
        };
        let skew = state.skew;
        self.begin(number, number, skew, writer, work)
    }

    fn begin(
        &mut self,
        actor: u8,
        client: u8,
        skew: i64,
        writer: Writer,
        work: impl FnOnce(Client) -> Work,
    ) -> Verdict {
        if self.actors.contains_key(&actor) {
            return Ok(());
        }
        let table = StepTable::default();
        let now = self.now + skew;
        let client = Client {
            table: table.clone(),
            scenario: self.scenario,
            now,
            known: self.clients[usize::from(client)].known.clone(),
            configuration: self.configuration.clone(),
            transactions: self.transactions.clone(),
            uninterrupted: self.uninterrupted.clone(),
        };
        self.actors
            .insert(actor, Actor::client(table, now, writer, work(client)));
        self.poll(actor)
    }

    /// Decides one call, and in a calm scenario the rest of the fan-out that it begins.
    fn call(&mut self, number: u8, place: u8, fate: Fate) -> Verdict {
        self.one_call(number, place, fate)?;
        while self.uninterrupted.get() && self.actors.contains_key(&number) {
            self.one_call(number, 0, Fate::Answered)?;
        }
        self.uninterrupted.set(false);
        Ok(())
    }

    fn one_call(&mut self, number: u8, place: u8, fate: Fate) -> Verdict {
        let Some(actor) = self.actors.get_mut(&number) else {
            return Ok(());
        };
        let Some(waiting) = actor.table.waiting(place.into()) else {
            return Ok(());
        };
        let Some(call) = actor.table.take(waiting) else {
            return Ok(());
        };
        if fate != Fate::Answered {
            self.coverage.count(match fate {
                Fate::Throttled => "fault: throttled",
                Fate::Ambiguous => "fault: answer lost",
                Fate::Denied => "fault: denied",
                Fate::Stopped | Fate::Answered => "fault: stopped",
            });
        }
        self.denied |= fate == Fate::Denied;
        let (answer, took_effect) = carry_out(&self.memory, &call, fate);
        if let Some(actor) = self.actors.get_mut(&number).filter(|_| self.remembers) {
            actor.remember(&answer);
        }
        let actor = self
            .actors
            .get_mut(&number)
            .filter(|_| took_effect || matches!(call, Call::Read(_)));
        if let Some(actor) = actor {
            actor.saw(&call, &answer, fate);
        }
        let (writer, now) = self
            .actors
            .get(&number)
            .map_or((Writer::Client, self.now), |actor| (actor.writer, actor.now));
        self.settle_records(writer, now, Some(number))?;
        if fate == Fate::Stopped {
            self.actors.remove(&number);
            return Ok(());
        }
        if let Some(actor) = self.actors.get_mut(&number) {
            actor.fault |= fate != Fate::Answered;
            actor.table.answer(waiting, answer);
        }
        self.poll(number)
    }

    /// Lets an actor go on until its next call.
    fn poll(&mut self, number: u8) -> Verdict {
        let Some(actor) = self.actors.get_mut(&number) else {
            return Ok(());
        };
        let Some(ended) = actor.poll() else { return Ok(()) };
        let Some(actor) = self.actors.remove(&number) else {
            return Ok(());
        };
        match ended {
            actor::Outcome::Client(ended) => {
                self.coverage.count(match ended {
                    Ended::Admitted(_) => "client: admitted",
                    Ended::Refused => "client: refused",
                    Ended::Done => "client: done",
                });
                if let (Ended::Admitted(lease), Some(state)) = (ended, self.clients.get_mut(usize::from(number))) {
                    state.lease = Some(lease);
                }
                Ok(())
            }
            actor::Outcome::Batch(outcome) => self.delivered(number, &actor, &outcome),
        }
    }

    /// Takes what the last call changed to the auditor and into the stream.
    fn settle_records(&mut self, writer: Writer, now: i64, actor: Option<u8>) -> Verdict {
        let records = self.memory.take_records();
        if records.is_empty() {
            return Ok(());
        }
        let nothing = BTreeMap::new();
        let shown = actor
            .and_then(|number| self.actors.get(&number))
            .map_or(&nothing, |actor| &actor.shown);
        let zero = self.memory.get(&shard_key(0)).map(|item| Snapshot::of(&item));
        let truth = zero.as_ref().map_or(0, |zero| zero.count);
        let pressure = (truth, zero.is_some_and(|zero| zero.wcu.tk * 4 < zero.wcu.cp));
        let stamp = |item: Item| {
            let incarnation = match item.get("pinc") {
                Some(AttributeValue::S(stamp)) => Some(stamp.clone()),
                _ => None,
            };
            (client::integer(&item, "pgen"), incarnation)
        };
        let owner = self.memory.get(&GROUP.meta()).map(stamp);
        let reborn = self.life > 1;
        let images = actor
            .and_then(|number| self.actors.get(&number))
            .map(|actor| self.images(actor))
            .unwrap_or_default();
        let changes = changes_of(&records);
        left_alone(&records, writer)?;
        let event = Event {
            writer,
            now,
            changes,
            shown,
            images,
            truth,
            scenario: self.scenario,
            reborn,
            owner,
        };
        let verdict = if event.changes.is_empty() {
            Ok(())
        } else {
            self.auditor.enter(&event)
        };
        self.pressure = pressure;
        if event.changes.iter().any(rises) {
            self.last_rise = Some(self.log.len());
        }
        for record in records {
            let json = record.to_json().to_string();
            self.log.push(LogRecord { record, json });
        }
        verdict
    }

    /// The last image of each shard in a batch, in the order of the stream.
    fn images(&self, actor: &Actor) -> BTreeMap<u32, Snapshot> {
        let mut latest: BTreeMap<u32, usize> = BTreeMap::new();
        for place in &actor.records {
            let record = &self.log[*place].record;
            let bucket = simulated(&record.key);
            if let Some(bucket) = bucket.filter(|_| record.new.is_some()) {
                let known = latest.entry(bucket.shard.0).or_insert(*place);
                *known = (*known).max(*place);
            }
        }
        let image = |place: usize| self.log[place].record.new.as_ref().map(Snapshot::of);
        latest
            .into_iter()
            .filter_map(|(shard, place)| Some((shard, image(place)?)))
            .collect()
    }

    fn remove(&mut self, shard: u8) -> Verdict {
        let existed = self.memory.delete_item(&shard_key(shard.into())).is_some();
        if existed && shard == 0 {
            self.life += 1;
        }
        if existed {
            self.coverage.count("fault: shard removed");
        }
        self.settle_records(Writer::Removal, self.now, None)
    }

    /// The entity goes, with every shard; clients find out by themselves. It may come back under another stamp.
    fn rebirth(&mut self, reborn: bool) -> Verdict {
        self.coverage.count("fault: entity deleted");
        for shard in 0..32 {
            self.memory.delete_item(&shard_key(shard));
        }
        self.memory.delete_item(&GROUP.meta());
        self.life += 1;
        self.settle_records(Writer::Removal, self.now, None)?;
        self.auditor.forget();
        if reborn {
            self.coverage.count("fault: entity made again");
            // Not in the millisecond in which it was deleted.
            self.now += 1;
            self.memory.set_now(EpochMillis(self.now));
            self.make_entity();
        }
        self.settle_records(Writer::Removal, self.now, None)
    }

    fn bad_schedule(&mut self, bad: bool) -> Verdict {
        self.coverage.count("fault: bad schedule");
        for shard in 0..32 {
            if let Some(mut item) = self.memory.get(&shard_key(shard)) {
                if bad {
                    item.insert("sched".to_owned(), text("bad"));
                } else {
                    item.remove("sched");
                }
                item.insert("vu".to_owned(), number(0));
                self.put(&item);
            }
        }
        self.settle_records(Writer::Operator, self.now, None)
    }

    /// Every shard as it is.
    pub fn shards(&self) -> BTreeMap<u32, Snapshot> {
        (0..32)
            .filter_map(|shard| Some((shard, Snapshot::of(&self.memory.get(&shard_key(shard))?))))
            .collect()
    }

    /// Everything that can still matter.
    pub fn fingerprint(&self, hasher: &mut impl Hasher) {
        format!("{:?}", self.memory.items().values().collect::<Vec<_>>()).hash(hasher);
        (
            self.now,
            self.life,
            self.readers.iter().map(|reader| reader.checkpoint).collect::<Vec<_>>(),
        )
            .hash(hasher);
        for record in &self.log {
            record.json.hash(hasher);
        }
        for (number, actor) in &self.actors {
            (number, actor.now, actor.history).hash(hasher);
        }
        for client in &self.clients {
            (client.known.get(), format!("{:?}", client.lease)).hash(hasher);
        }
    }

    fn newest_window_end(&self) -> Option<i64> {
        self.shards()
            .values()
            .filter_map(|shard| shard.limit(Kind::Session)?.window_end())
            .max()
    }
}

fn rises(change: &Change) -> bool {
    let count = |shard: &Option<Snapshot>| shard.as_ref().map(|shard| shard.count);
    change.shard == 0 && change.old.is_some() && count(&change.new) > count(&change.old)
}
