//! Audit records that expired, kept as objects of gzip JSON lines in a bucket (03-delivery, Archive).
//!
//! Decides which removals are expiries of audit records, what is kept of them and under which key. Refuses to tell how
//! an upload is repeated: it either took effect or is owed to the stream. What must stay true: an object's key is a
//! function of its content, so that the same records give the same object however often they are delivered, and other
//! records never take its place; and nothing here reaches a log, because objects hold entity ids.
//!
//! Uploading takes the SDK for S3 and is compiled in by the Cargo feature `archive`; what is decided is always there.

mod day;
mod expired;
mod line;
#[cfg(feature = "archive")]
pub mod s3;

pub use day::{Day, Object, days};
pub use expired::ExpiredAudit;

use std::future::Future;

use crate::table::Fault;

/// Whether this program can archive at all.
pub const IS_BUILT_IN: bool = cfg!(feature = "archive");

/// Where objects are kept.
pub trait Archive {
    /// Stores an object, in the place of one with the same key.
    ///
    /// # Errors
    /// Any [`Fault`]; the object may or may not have been stored. Whatever its class, it is worth asking again.
    fn put(&self, object: &Object) -> impl Future<Output = Result<(), Fault>>;
}

/// No archive: nothing can be stored in it, because it cannot exist.
#[derive(Clone, Copy, Debug)]
pub enum NoArchive {}

impl Archive for NoArchive {
    async fn put(&self, _object: &Object) -> Result<(), Fault> {
        match *self {}
    }
}

/// An archive behind a reference is that archive: a test can look into one that it lends.
impl<A: Archive> Archive for &A {
    fn put(&self, object: &Object) -> impl Future<Output = Result<(), Fault>> {
        (**self).put(object)
    }
}
