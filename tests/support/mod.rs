//! What several test targets share. Each uses its own part of it.
#![allow(dead_code, unused_imports)]

pub mod proxy;
