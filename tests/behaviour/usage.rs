//! Usage snapshots (R12): what they hold after one delivery, and after every kind of bad one.

mod counting;
mod failures;
mod hostile;
mod model;
mod records;
mod redrive;
mod seen;
mod size;
mod wire;
