//! The table as an actor sees it: every call waits until the scheduler answers it.
//!
//! Decides nothing. What must stay true: an actor makes progress only where a call is answered, so that the scheduler
//! alone decides the order of everything.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::{Consistency, Fault, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Transaction, Update};

/// A call that waits.
#[derive(Clone, Debug)]
pub enum Call {
    /// [`Table::update`].
    Update(Update),
    /// [`StepTable::update_returning`].
    UpdateReturning(Update),
    /// [`Table::transact`].
    Transact(Transaction),
    /// [`Table::read`].
    Read(Vec<ItemKey>),
}

/// What a call is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To an update.
    Update(Result<UpdateOutcome, Fault>),
    /// To an update that took effect: the item after it. To one that did not: the item that was found.
    UpdateReturning(Result<Result<Item, Option<Item>>, Fault>),
    /// To a transaction.
    Transact(Result<TransactionOutcome, Fault>),
    /// To a read.
    Read(Result<Vec<Option<Item>>, Fault>),
}

#[derive(Default)]
struct Slot {
    call: Option<Call>,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Port {
    made: u64,
    slots: BTreeMap<u64, Slot>,
}

/// One actor's table.
#[derive(Clone, Default)]
pub struct StepTable(Rc<RefCell<Port>>);

impl StepTable {
    /// The number of the call at this place among those waiting, counted around.
    pub fn waiting(&self, place: usize) -> Option<u64> {
        let port = self.0.borrow();
        let count = port.slots.len();
        port.slots.keys().nth(place.checked_rem(count)?).copied()
    }

    /// Whether a call of a kind waits.
    pub fn is_waiting_for(&self, kind: impl Fn(&Call) -> bool) -> bool {
        let port = self.0.borrow();
        port.slots.values().filter_map(|slot| slot.call.as_ref()).any(kind)
    }

    /// Takes a waiting call in order to carry it out.
    pub fn take(&self, number: u64) -> Option<Call> {
        self.0.borrow_mut().slots.get_mut(&number)?.call.take()
    }

    /// Answers a call. Its actor must be polled next.
    pub fn answer(&self, number: u64, answer: Answer) {
        if let Some(slot) = self.0.borrow_mut().slots.get_mut(&number) {
            slot.answer = Some(answer);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }

    /// An update that is answered with the item as it is after it, or else with the item that was found.
    pub async fn update_returning(&self, update: &Update) -> Result<Result<Item, Option<Item>>, Fault> {
        match self.ask(Call::UpdateReturning(update.clone())).await {
            Answer::UpdateReturning(answer) => answer,
            other => panic!("an update was answered {other:?}"),
        }
    }

    fn ask(&self, call: Call) -> Waiting {
        let mut port = self.0.borrow_mut();
        port.made += 1;
        let number = port.made;
        port.slots.insert(
            number,
            Slot {
                call: Some(call),
                ..Slot::default()
            },
        );
        Waiting {
            table: self.clone(),
            number,
        }
    }
}

struct Waiting {
    table: StepTable,
    number: u64,
}

impl Future for Waiting {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let mut port = self.table.0.borrow_mut();
        let slot = port.slots.entry(self.number).or_default();
        match slot.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.table.0.borrow_mut().slots.remove(&self.number);
    }
}

impl Table for StepTable {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        match self.ask(Call::Update(update.clone())).await {
            Answer::Update(answer) => answer,
            other => panic!("an update was answered {other:?}"),
        }
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        match self.ask(Call::Transact(transaction.clone())).await {
            Answer::Transact(answer) => answer,
            other => panic!("a transaction was answered {other:?}"),
        }
    }

    async fn read(&self, keys: &[ItemKey], _: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        match self.ask(Call::Read(keys.to_vec())).await {
            Answer::Read(answer) => answer,
            other => panic!("a read was answered {other:?}"),
        }
    }
}
