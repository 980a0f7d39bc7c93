//! What the product does against an engine, through the real SDK.

mod engine;
