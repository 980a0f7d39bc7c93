//! What the product does against an engine, through the real SDK.

#[path = "../support/engine.rs"]
mod support_engine;
mod table_arms;
