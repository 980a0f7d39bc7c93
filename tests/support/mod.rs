//! What several test targets share. Each uses its own part of it.
#![allow(dead_code, unused_imports)]

pub mod captures;
pub mod faults;
pub mod lambda;
pub mod object_store;
pub mod policy;
pub mod proxy;
pub mod runtime_api;
pub mod scene;
#[cfg(feature = "replay")]
pub mod streams;
