//! What the product does against an engine, through the real SDK.
#![allow(clippy::disallowed_methods)] // Tests measure time and read where their data is.

mod engine;
mod pure_planning;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/engine.rs"]
mod support_engine;
mod table_arms;
mod wire_proxy;
