//! Plays a script: every operation from its start to its end, but for those that interrupt another.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::item::Item;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::units::EpochMillis;
use serde::Serialize;

use super::events;
use super::script::{Script, Step};
use crate::client::{Adjustment, Client, Ended, Lease, Operation, acquire, adjust, operate, owner, shard_key};
use crate::port::{Answer, Call, StepTable};
use crate::scenario::{Configuration, START, Scenario};
use crate::world::calls::update_returning;

/// Clients of a script; the operator shares what the first one knows.
pub const CLIENTS: u8 = 3;
/// Millitokens of a token.
const TOKEN: i128 = 1000;

/// A script and what came of it.
#[derive(Debug, Serialize)]
pub struct Played {
    /// What was played.
    #[serde(flatten)]
    pub script: Script,
    /// How each operation ended, in the order in which they ended.
    pub outcomes: Vec<&'static str>,
    /// What was exercised, and how often.
    pub events: BTreeMap<&'static str, u32>,
    /// Every item that is left.
    pub items: Vec<Item>,
}

/// Plays a script.
pub fn play(script: &Script) -> Played {
    let mut stage = Stage::new(script);
    script.steps.iter().for_each(|step| stage.step(step));
    Played {
        script: script.clone(),
        outcomes: stage.outcomes,
        events: stage.events,
        items: stage.memory.items().into_values().collect(),
    }
}

type Work = Pin<Box<dyn Future<Output = Ended>>>;

/// A table, and who works on it.
pub struct Stage {
    memory: MemoryTable,
    scenario: Scenario,
    now: i64,
    known: Vec<Rc<Cell<u32>>>,
    leases: BTreeMap<u8, Lease>,
    configuration: Rc<RefCell<Configuration>>,
    transactions: Rc<Cell<u64>>,
    outcomes: Vec<&'static str>,
    events: BTreeMap<&'static str, u32>,
}

impl Stage {
    /// The entity is there, and nothing else.
    pub fn new(script: &Script) -> Self {
        let memory = MemoryTable::new();
        memory.set_now(EpochMillis(START));
        assert_eq!(memory.put_item(&owner(1)), Ok(()), "an owner record can be stored");
        Self {
            memory,
            scenario: Scenario {
                limits: script.limits,
                write_budget: script.write_budget.into(),
                ..Scenario::quiet()
            },
            now: START,
            known: (0..CLIENTS).map(|_| Rc::new(Cell::new(1))).collect(),
            leases: BTreeMap::new(),
            configuration: Rc::new(RefCell::new(Configuration {
                base: i128::from(script.base) * TOKEN,
                ..Configuration::default()
            })),
            transactions: Rc::new(Cell::new(0)),
            outcomes: vec![],
            events: BTreeMap::new(),
        }
    }

    /// The clock, in epoch milliseconds.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Every shard that exists.
    pub fn shards(&self) -> BTreeMap<u8, Item> {
        (0..32)
            .filter_map(|shard| Some((shard, self.memory.get(&shard_key(shard.into()))?)))
            .collect()
    }

    /// What the client's last lease took, in tokens.
    pub fn leased(&self, client: u8) -> Option<i128> {
        self.leases.get(&client).map(|lease| lease.amount / TOKEN)
    }

    /// One step, to its end.
    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Interrupt { step, writes, by } => self.carried_through(step, Some((usize::from(*writes), by))),
            _ => self.carried_through(step, None),
        }
    }

    fn carried_through(&mut self, step: &Step, mut interruption: Option<(usize, &Step)>) {
        if let Some((table, mut work)) = self.begin(step) {
            let mut made = 0;
            let ended = loop {
                if let Poll::Ready(ended) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    break ended;
                }
                let Some((number, call)) = table.waiting(0).and_then(|number| Some((number, table.take(number)?)))
                else {
                    unreachable!("work that is not done waits for a call");
                };
                if !matches!(call, Call::Read(_)) {
                    if let Some((_, by)) = interruption.take_if(|(writes, _)| made == *writes) {
                        self.step(by);
                    }
                    made += 1;
                }
                table.answer(number, self.carry_out(&call));
            };
            self.ended(step, &ended);
        }
        if let Some((_, by)) = interruption {
            self.step(by);
        }
    }

    fn ended(&mut self, step: &Step, ended: &Ended) {
        self.outcomes.push(match ended {
            Ended::Admitted(_) => "admitted",
            Ended::Refused => "refused",
            Ended::Done => "done",
        });
        if let (Ended::Admitted(lease), Some(client)) = (ended, step.client()) {
            self.leases.insert(client, lease.clone());
        }
        if *ended == Ended::Refused {
            *self.events.entry("refused").or_default() += 1;
        }
    }

    fn carry_out(&mut self, call: &Call) -> Answer {
        let answer = match call {
            Call::Update(update) => Answer::Update(self.memory.apply_update(update)),
            Call::UpdateReturning(update) => Answer::UpdateReturning(update_returning(&self.memory, update)),
            Call::Transact(transaction) => Answer::Transact(self.memory.apply_transaction(transaction)),
            Call::Read(keys) => Answer::Read(self.memory.apply_read(keys)),
        };
        for event in events::of(call, &answer) {
            *self.events.entry(event).or_default() += 1;
        }
        answer
    }

    fn begin(&mut self, step: &Step) -> Option<(StepTable, Work)> {
        let table = StepTable::default();
        let operation = |client: u8| self.client(client, &table);
        let work: Work = match *step {
            Step::Pass { ms } => {
                self.now += ms;
                self.memory.set_now(EpochMillis(self.now));
                return None;
            }
            Step::Remove { shard } => {
                self.memory.delete_item(&shard_key(shard.into()));
                return None;
            }
            Step::Acquire { client, draw, tokens } => {
                Box::pin(acquire(operation(client), draw, i128::from(tokens) * TOKEN))
            }
            Step::Adjust { client, tokens } => {
                let amount = i128::from(tokens) * TOKEN;
                let adjustment = if amount < 0 {
                    Adjustment::Refund(-amount)
                } else {
                    Adjustment::Charge(amount)
                };
                let work = operation(client);
                Box::pin(adjust(work, self.leases.remove(&client)?, adjustment))
            }
            Step::Configure { per_mille } => Box::pin(operate(operation(0), Operation::Configure(per_mille))),
            Step::TopUp { tokens } => Box::pin(operate(operation(0), Operation::TopUp(i128::from(tokens) * TOKEN))),
            Step::Reset => Box::pin(operate(operation(0), Operation::Reset)),
            Step::Interrupt { .. } => return None,
        };
        Some((table, work))
    }

    fn client(&self, client: u8, table: &StepTable) -> Client {
        Client {
            table: table.clone(),
            scenario: self.scenario,
            now: self.now,
            known: self.known[usize::from(client)].clone(),
            configuration: self.configuration.clone(),
            transactions: self.transactions.clone(),
            uninterrupted: Rc::new(Cell::new(false)),
        }
    }
}
