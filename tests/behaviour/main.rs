//! What the product does against an engine, through the real SDK.

mod engine;
#[path = "../support/mod.rs"]
mod support;
mod wire_proxy;
#[path = "../support/engine.rs"]
mod support_engine;
mod table_arms;
