//! A table that fails when told to, for trying every point at which a call can be lost.
//!
//! Decides nothing itself: each call either goes to the table behind it, or fails before or after doing so. What must
//! stay true: calls are counted from 1 in the order made, failed ones included, whatever they are.

use std::cell::{Cell, RefCell};
use std::future::Future;

use super::{Consistency, Fault, Table, TransactionOutcome, UpdateOutcome};
use crate::item::Item;
use crate::key::ItemKey;
use crate::write::{Transaction, Update};

/// When a failing call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before the table sees it: nothing happens.
    Before,
    /// After the table has carried it out: only the answer is lost.
    After,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failing {
    /// The call of this number alone, counted from 1.
    Only(u64),
    /// The call of this number and all that follow, as after a crash.
    From(u64),
}

impl Failing {
    fn includes(self, call: u64) -> bool {
        match self {
            Self::Only(number) => call == number,
            Self::From(number) => call >= number,
        }
    }
}

/// How many calls were made, by operation, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Of [`Table::update`].
    pub updates: u64,
    /// Of [`Table::transact`].
    pub transactions: u64,
    /// Of [`Table::read`].
    pub reads: u64,
}

impl Calls {
    /// Calls of all kinds.
    pub fn total(&self) -> u64 {
        self.updates + self.transactions + self.reads
    }
}

struct Plan {
    failing: Failing,
    moment: Moment,
    fault: Fault,
}

/// A table whose calls fail as planned; without a plan, none do.
pub struct FailingTable<T> {
    inner: T,
    plans: RefCell<Vec<Plan>>,
    calls: Cell<Calls>,
}

impl<T: Table> FailingTable<T> {
    /// A wrapper that only counts, until told more.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            plans: RefCell::default(),
            calls: Cell::default(),
        }
    }

    /// Plans a failure. Where several plans meet one call, the first made decides. From [`Failing::From`] on, only the
    /// first call fails at the moment given; what comes after a crash is never carried out.
    pub fn fail(&self, failing: Failing, moment: Moment, fault: Fault) {
        self.plans.borrow_mut().push(Plan { failing, moment, fault });
    }

    /// The calls so far.
    pub fn calls(&self) -> Calls {
        self.calls.get()
    }

    /// The table behind.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    fn count(&self, count: impl FnOnce(&mut Calls)) -> Option<(Moment, Fault)> {
        let mut calls = self.calls.get();
        count(&mut calls);
        self.calls.set(calls);
        let call = calls.total();
        let plans = self.plans.borrow();
        let plan = plans.iter().find(|plan| plan.failing.includes(call))?;
        let moment = match plan.failing {
            Failing::From(number) if call > number => Moment::Before,
            Failing::From(_) | Failing::Only(_) => plan.moment,
        };
        Some((moment, plan.fault.clone()))
    }
}

async fn carry_out<A>(
    failure: Option<(Moment, Fault)>,
    call: impl Future<Output = Result<A, Fault>>,
) -> Result<A, Fault> {
    match failure {
        None => call.await,
        Some((Moment::Before, fault)) => Err(fault),
        Some((Moment::After, fault)) => {
            call.await?;
            Err(fault)
        }
    }
}

impl<T: Table> Table for FailingTable<T> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        let failure = self.count(|calls| calls.updates += 1);
        carry_out(failure, self.inner.update(update)).await
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        let failure = self.count(|calls| calls.transactions += 1);
        carry_out(failure, self.inner.transact(transaction)).await
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        let failure = self.count(|calls| calls.reads += 1);
        carry_out(failure, self.inner.read(keys, consistency)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::number;
    use crate::table::FaultClass;
    use crate::table::memory::MemoryTable;
    use crate::write::Action;

    fn key() -> ItemKey {
        ItemKey {
            pk: "p".to_owned(),
            sk: "s".to_owned(),
        }
    }

    fn increment() -> Update {
        let actions = vec![Action::Add {
            attribute: "n".to_owned(),
            delta: 1,
        }];
        Update {
            key: key(),
            actions,
            conditions: vec![],
            return_item_on_failure: false,
        }
    }

    fn fault() -> Fault {
        Fault {
            operation: "UpdateItem",
            code: "timeout".to_owned(),
            class: FaultClass::Retryable,
        }
    }

    async fn three_increments(failing: Failing, moment: Moment) -> (Vec<bool>, Option<Item>) {
        let memory = MemoryTable::new();
        let table = FailingTable::new(&memory);
        table.fail(failing, moment, fault());
        let mut answered = Vec::new();
        for _ in 0..3 {
            answered.push(table.update(&increment()).await.is_ok());
        }
        assert_eq!(
            table.calls(),
            Calls {
                updates: 3,
                ..Calls::default()
            }
        );
        (answered, memory.get(&key()))
    }

    #[tokio::test]
    async fn a_call_fails_before_or_after_it_takes_effect() {
        for (moment, left) in [(Moment::Before, 2), (Moment::After, 3)] {
            let (answered, item) = three_increments(Failing::Only(2), moment).await;
            assert_eq!(answered, [true, false, true]);
            assert_eq!(item.unwrap()["n"], number(left));
        }
    }

    #[tokio::test]
    async fn nothing_happens_after_a_crash() {
        for (moment, left) in [(Moment::Before, 1), (Moment::After, 2)] {
            let (answered, item) = three_increments(Failing::From(2), moment).await;
            assert_eq!(answered, [true, false, false]);
            assert_eq!(item.unwrap()["n"], number(left));
        }
    }

    #[tokio::test]
    async fn calls_are_counted_by_operation() {
        let table = FailingTable::new(MemoryTable::new());
        table.fail(Failing::Only(1), Moment::After, fault());
        assert_eq!(table.read(&[key()], Consistency::Strong).await, Err(fault()));
        table.update(&increment()).await.unwrap();
        let empty = Transaction {
            actions: vec![],
            token: "t".to_owned(),
        };
        assert!(table.transact(&empty).await.is_err(), "the inner table's own refusal");
        assert_eq!(
            table.calls(),
            Calls {
                updates: 1,
                transactions: 1,
                reads: 1
            }
        );
        assert_eq!(table.calls().total(), 3);
        assert!(table.inner().get(&key()).is_some());
    }
}
