//! A table in memory whose updates go wrong as told: lost answers, stops, answers that arrive late.

use std::cell::{Cell, RefCell};
use std::task::Poll;

use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Consistency, Fault, FaultClass, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Transaction, Update};

/// What becomes of one update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Pass,
    /// It is answered so and not carried out.
    Answer(Result<UpdateOutcome, Fault>),
    /// It is carried out; the answer is lost.
    LoseAnswer,
    /// It is carried out, the answer is lost on the way to the SDK, and the SDK sends it again.
    SentTwice,
    /// The process ends before it is carried out.
    StopBefore,
    /// The process ends after it was carried out.
    StopAfter,
    /// It is carried out only when the work on the batch is taken up again.
    Pause,
    /// It times out, and arrives later: see [`Hostile::take_late`].
    Late,
}

pub fn fault(class: FaultClass) -> Fault {
    let code = match class {
        FaultClass::Permanent => "ValidationException",
        FaultClass::Retryable | FaultClass::Conflict => "timeout",
    };
    Fault {
        operation: "UpdateItem",
        code: code.to_owned(),
        class,
    }
}

/// The table; `fate` is asked with the number of the call, from 1.
pub struct Hostile<'m, F> {
    memory: &'m MemoryTable,
    fate: RefCell<F>,
    calls: Cell<u32>,
    late: RefCell<Vec<Update>>,
}

impl<'m, F: FnMut(u32, &Update) -> Fate> Hostile<'m, F> {
    pub fn new(memory: &'m MemoryTable, fate: F) -> Self {
        Self {
            memory,
            fate: RefCell::new(fate),
            calls: Cell::new(0),
            late: RefCell::default(),
        }
    }

    pub fn calls(&self) -> u32 {
        self.calls.get()
    }

    /// Takes the updates that have not arrived yet.
    pub fn take_late(&self) -> Vec<Update> {
        self.late.take()
    }
}

/// Not ready the first time it is asked.
async fn pause() {
    let mut is_first = true;
    std::future::poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

impl<F: FnMut(u32, &Update) -> Fate> Table for Hostile<'_, F> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.calls.set(self.calls.get() + 1);
        let fate = (self.fate.borrow_mut())(self.calls.get(), update);
        match fate {
            Fate::Pass => self.memory.apply_update(update),
            Fate::Answer(answer) => answer,
            Fate::LoseAnswer => {
                self.memory.apply_update(update)?;
                Err(fault(FaultClass::Retryable))
            }
            Fate::SentTwice => {
                self.memory.apply_update(update)?;
                self.memory.apply_update(update)
            }
            Fate::Pause => {
                pause().await;
                self.memory.apply_update(update)
            }
            Fate::StopBefore => std::future::pending().await,
            Fate::StopAfter => {
                self.memory.apply_update(update)?;
                std::future::pending().await
            }
            Fate::Late => {
                self.late.borrow_mut().push(update.clone());
                Err(fault(FaultClass::Retryable))
            }
        }
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.memory.apply_transaction(transaction)
    }

    async fn read(&self, keys: &[ItemKey], _: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.memory.apply_read(keys)
    }
}
