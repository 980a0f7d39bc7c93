//! What the product does against an engine, through the real SDK.

#[path = "../support/engine.rs"]
mod engine_support;
mod table_arms;
mod table_wire;
