//! The archive in an S3 bucket, through the SDK.

use std::io::{self, Write};

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::primitives::ByteStream;
use flate2::{Compression, GzBuilder};

use super::{Archive, Object};
use crate::table::dynamodb::{fault, retries, timeouts};
use crate::table::{Fault, FaultClass};

const PUT_OBJECT: &str = "PutObject";
/// What each line is. The gzip around them is the encoding.
const CONTENT_TYPE: &str = "application/x-ndjson";

/// A bucket of S3. Clones share the client and its connections.
#[derive(Clone, Debug)]
pub struct S3Archive {
    client: Client,
    bucket: String,
}

impl S3Archive {
    /// The bucket of that name. Region, credentials and HTTP client are those of `base`, retries and timeouts those of
    /// the table.
    pub fn new(base: &SdkConfig, bucket: impl Into<String>) -> Self {
        let config = Builder::from(base).retry_config(retries()).timeout_config(timeouts());
        Self {
            client: Client::from_conf(config.build()),
            bucket: bucket.into(),
        }
    }
}

impl Archive for S3Archive {
    async fn put(&self, object: &Object) -> Result<(), Fault> {
        let body = gzip(&object.lines).map_err(|_| Fault {
            operation: PUT_OBJECT,
            code: "compression".to_owned(),
            class: FaultClass::Retryable,
        })?;
        let request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(&object.key)
            .content_type(CONTENT_TYPE)
            .content_encoding("gzip")
            .body(ByteStream::from(body));
        // A wrong bucket, a missing permission, a disabled key: an operator's slip must delay an upload, not lose it.
        let owed = |error| Fault {
            class: FaultClass::Retryable,
            ..fault(PUT_OBJECT, &error)
        };
        request.send().await.map(drop).map_err(owed)
    }
}

/// Without a time of compression: the same lines are the same bytes.
fn gzip(lines: &str) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    encoder.write_all(lines.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_same_lines_are_the_same_bytes_and_come_back() {
        let lines = "{\"event_id\":\"01\"}\n".repeat(100);
        let packed = gzip(&lines).unwrap();
        assert_eq!(packed, gzip(&lines).unwrap());
        assert!(packed.len() < lines.len() / 10);
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, lines);
    }
}
