//! Tables that let a test in between: something happens before the k-th call, or each call waits to be let go.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use limiter_aggregator::item::Item;
use limiter_aggregator::key::ItemKey;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Consistency, Fault, Table, TransactionOutcome, UpdateOutcome};
use limiter_aggregator::write::{Transaction, Update};

/// A call that is about to be made.
pub enum Call<'c> {
    Read(&'c [ItemKey], Consistency),
    Update,
    Transact(&'c Transaction),
}

type Hook<'h> = Box<dyn FnMut(u64, &Call<'_>) + 'h>;

/// Runs a hook before each call, which is told the call and its number, from 1.
pub struct Interposed<'h> {
    inner: &'h MemoryTable,
    hook: RefCell<Hook<'h>>,
    calls: Cell<u64>,
}

impl<'h> Interposed<'h> {
    pub fn new(inner: &'h MemoryTable, hook: impl FnMut(u64, &Call<'_>) + 'h) -> Self {
        Self {
            inner,
            hook: RefCell::new(Box::new(hook)),
            calls: Cell::new(0),
        }
    }

    /// Does something once, before the call of this number.
    pub fn before(inner: &'h MemoryTable, number: u64, meanwhile: impl Fn(&MemoryTable) + 'h) -> Self {
        Self::new(inner, move |call, _| {
            if call == number {
                meanwhile(inner);
            }
        })
    }

    pub fn calls(&self) -> u64 {
        self.calls.get()
    }

    fn call(&self, call: &Call<'_>) {
        self.calls.set(self.calls.get() + 1);
        (self.hook.borrow_mut())(self.calls.get(), call);
    }
}

impl Table for Interposed<'_> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        self.call(&Call::Update);
        self.inner.apply_update(update)
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        self.call(&Call::Transact(transaction));
        self.inner.apply_transaction(transaction)
    }

    async fn read(&self, keys: &[ItemKey], consistency: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        self.call(&Call::Read(keys, consistency));
        self.inner.apply_read(keys)
    }
}

/// Each call waits for one more poll before it takes effect: one poll, one call.
pub struct Yielding<'t>(pub &'t MemoryTable);

struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Table for Yielding<'_> {
    async fn update(&self, update: &Update) -> Result<UpdateOutcome, Fault> {
        Once(false).await;
        self.0.apply_update(update)
    }

    async fn transact(&self, transaction: &Transaction) -> Result<TransactionOutcome, Fault> {
        Once(false).await;
        self.0.apply_transaction(transaction)
    }

    async fn read(&self, keys: &[ItemKey], _: Consistency) -> Result<Vec<Option<Item>>, Fault> {
        Once(false).await;
        self.0.apply_read(keys)
    }
}
