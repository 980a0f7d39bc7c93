//! One suite for both arms of the table: each case runs on the table in memory and, through the SDK, on the embedded
//! engine, so that they cannot drift apart. Grouped by what writes: each rule's writes with every condition met and
//! missed, then values, reads, transactions, and random sequences compared item by item.

/// Makes two tests of each case: one per arm, on an empty table.
macro_rules! on_both_arms {
    ($($case:ident),* $(,)?) => {
        mod on_memory {
            $(#[tokio::test]
            async fn $case() {
                super::$case(&crate::table_arms::arms::MemoryArm::new()).await;
            })*
        }
        mod on_engine {
            $(#[tokio::test]
            async fn $case() {
                super::$case(&crate::table_arms::arms::EngineArm::start().await).await;
            })*
        }
    };
}

mod arms;
mod creations;
mod raises;
mod reads;
mod refills;
mod sequences;
mod streams;
mod transactions;
mod usage;
mod values;
mod windows;
