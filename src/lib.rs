pub mod units;
pub mod key;
pub mod item;
pub mod record;
pub mod bucket;
#[cfg(feature = "replay")]
pub mod engine;
