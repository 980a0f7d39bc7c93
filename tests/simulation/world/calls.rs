//! One call carried out on the table, as its fate wants.

use limiter_aggregator::item::Item;
use limiter_aggregator::table::memory::MemoryTable;
use limiter_aggregator::table::{Fault, FaultClass, UpdateOutcome};
use limiter_aggregator::write::Update;

use crate::port::{Answer, Call};
use crate::step::Fate;

fn fault(operation: &'static str, fate: Fate) -> Fault {
    Fault {
        operation,
        code: "Simulated".to_owned(),
        class: match fate {
            Fate::Denied => FaultClass::Permanent,
            _ => FaultClass::Retryable,
        },
    }
}

/// An update, and the item after it; else the item that was found.
pub fn update_returning(memory: &MemoryTable, update: &Update) -> Result<Result<Item, Option<Item>>, Fault> {
    Ok(match memory.apply_update(update)? {
        UpdateOutcome::Applied => Ok(memory.get(&update.key).unwrap_or_default()),
        UpdateOutcome::LostRace { found } => Err(found),
    })
}

/// Carries a call out as its fate wants. Answers whether the table saw it.
pub fn carry_out(memory: &MemoryTable, call: &Call, fate: Fate) -> (Answer, bool) {
    let applies = !matches!(fate, Fate::Throttled | Fate::Denied);
    let answered = matches!(fate, Fate::Answered | Fate::Stopped);
    let answer = match call {
        Call::Update(update) => {
            let lost = Err(fault("UpdateItem", fate));
            let answer = if applies {
                memory.apply_update(update)
            } else {
                lost.clone()
            };
            Answer::Update(if answered { answer } else { lost })
        }
        Call::UpdateReturning(update) => {
            let lost = Err(fault("UpdateItem", fate));
            let answer = if applies {
                update_returning(memory, update)
            } else {
                lost.clone()
            };
            Answer::UpdateReturning(if answered { answer } else { lost })
        }
        Call::Transact(transaction) => {
            let lost = Err(fault("TransactWriteItems", fate));
            let answer = if applies {
                memory.apply_transaction(transaction)
            } else {
                lost.clone()
            };
            Answer::Transact(if answered { answer } else { lost })
        }
        Call::Read(keys) => Answer::Read(if answered {
            memory.apply_read(keys)
        } else {
            Err(fault("BatchGetItem", fate))
        }),
    };
    (answer, applies)
}
