//! What the product does against an engine, through the real SDK.
#![allow(clippy::disallowed_methods)] // Tests measure time and read where their data is.

mod archive;
mod bootstrap;
mod delivery;
mod doubling;
mod engine;
#[path = "../support/engine.rs"]
mod engine_support;
mod permissions;
mod propagation;
mod pure_planning;
mod refill_conditions;
mod replay_cli;
mod rule_tests;
mod stream_reader;
#[path = "../support/mod.rs"]
mod support;
mod table_arms;
mod table_wire;
mod usage;
mod wire_proxy;
