//! An S3-compatible server in this process, on a loopback port, with its objects in a folder of the tests' own; and the
//! hostile wire before it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use limiter_aggregator::archive::s3::S3Archive;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

use super::proxy::Proxy;

/// The bucket that exists.
pub const BUCKET: &str = "audit-archive";

const KEY_ID: &str = "test";
const SECRET: &str = "test";

/// See the module. Dropping it removes the objects.
pub struct ObjectStore {
    pub proxy: Proxy,
    direct: Client,
    folder: PathBuf,
}

/// An object as a reader gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub key: String,
    pub body: Vec<u8>,
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
}

impl ObjectStore {
    /// A server with one empty bucket.
    pub async fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("s3-{}-{number}", std::process::id()));
        std::fs::create_dir_all(folder.join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(&folder).unwrap());
        // Requests are signed as they are in earnest, and the signatures are checked.
        service.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
                // A connection ends as the other side pleases.
                tokio::spawn(async move { drop(serving.await) });
            }
        });
        Self {
            proxy: Proxy::start(address).await,
            direct: Client::new(&config(&format!("http://{address}"), SECRET)),
            folder,
        }
    }

    /// The product's archive in the bucket, behind the proxy.
    pub fn archive(&self) -> S3Archive {
        S3Archive::new(&config(&self.proxy.endpoint_url(), SECRET), BUCKET)
    }

    /// The same with a key that the server does not take.
    pub fn archive_with_a_wrong_key(&self) -> S3Archive {
        S3Archive::new(&config(&self.proxy.endpoint_url(), "wrong"), BUCKET)
    }

    /// Every object by key, read past the proxy.
    pub async fn objects(&self) -> Vec<Stored> {
        let listed = self.direct.list_objects_v2().bucket(BUCKET).send().await.unwrap();
        let mut objects = Vec::new();
        for object in listed.contents() {
            let key = object.key().unwrap().to_owned();
            let got = self.direct.get_object().bucket(BUCKET).key(&key).send().await.unwrap();
            objects.push(Stored {
                key,
                content_type: got.content_type().map(str::to_owned),
                content_encoding: got.content_encoding().map(str::to_owned),
                body: got.body.collect().await.unwrap().to_vec(),
            });
        }
        objects.sort_by(|left, right| left.key.cmp(&right.key));
        objects
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        // What cannot be removed lies among the build's own files.
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}

impl Stored {
    /// The lines, unpacked.
    pub fn lines(&self) -> Vec<String> {
        use std::io::Read;
        let mut text = String::new();
        flate2::read::GzDecoder::new(&self.body[..])
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.ends_with('\n'));
        text.lines().map(str::to_owned).collect()
    }
}

fn config(endpoint_url: &str, secret: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
            KEY_ID, secret, None, None, "test",
        )))
        .endpoint_url(endpoint_url)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build()
}
