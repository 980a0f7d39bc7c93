pub mod units;
pub mod key;
pub mod item;
pub mod record;
pub mod bucket;
pub mod table;
pub mod write;
