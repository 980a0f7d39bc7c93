//! The embedded engine: a DynamoDB-compatible table service in this process, on a loopback port, in memory.
//!
//! The replay program and the tests speak to it through the real SDK, so that what they exercise is what the Lambda
//! sends. Decides nothing about records. What must stay true: nothing of the surroundings (environment, files,
//! network beyond loopback) is read, and nothing outlives the engine. Always create a table under a fresh name: the
//! engine keeps the stream records of a deleted table and shows them under the same name again.

mod client;
mod items;
mod schema;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use client::{client, client_config, http_client};
pub use items::{put_items, scan_items};
pub use schema::create_table;

/// How long [`Engine::stop`] lets requests that are under way finish.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// What went wrong with the engine. Carries codes, never messages of the service: those may repeat keys, and keys
/// hold entity ids.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The loopback port could not be opened.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// What was asked for; port 0 asks for any.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The in-memory database could not be opened.
    #[error("cannot open the in-memory database: {0}")]
    Database(String),
    /// The server ended on its own account.
    #[error("the engine's server failed: {0}")]
    Server(String),
    /// A request was refused, or did not reach the engine.
    #[error("{operation} failed: {code}")]
    Request {
        /// The operation that failed, for example `CreateTable`.
        operation: &'static str,
        /// The service's error code, or a word for what happened on the way to it.
        code: String,
    },
    /// An item to be stored has no text `PK` and `SK`.
    #[error("item {place} has no text PK and SK")]
    Keyless {
        /// Which of the items, from 0.
        place: usize,
    },
    /// Writes kept being handed back.
    #[error("{left} items were still unprocessed after {rounds} rounds")]
    Unprocessed {
        /// How many items remained.
        left: usize,
        /// How often they were sent.
        rounds: u32,
    },
}

impl EngineError {
    fn request<E: ProvideErrorMetadata, R>(operation: &'static str, error: &SdkError<E, R>) -> Self {
        let code = match error {
            SdkError::ServiceError(refusal) => refusal.err().code().unwrap_or("an answer without a code"),
            SdkError::TimeoutError(_) => "timed out",
            SdkError::DispatchFailure(_) => "no answer",
            SdkError::ResponseError(_) => "unreadable answer",
            _ => "could not be sent",
        };
        Self::Request {
            operation,
            code: code.to_owned(),
        }
    }
}

/// A running engine. Dropping it stops it.
#[derive(Debug)]
pub struct Engine {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    server: JoinHandle<Result<(), String>>,
}

impl Engine {
    /// Starts an engine with no tables on a port the system chooses. It is served by the current runtime.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn start() -> Result<Self, EngineError> {
        Self::start_on(0).await
    }

    /// Starts an engine with no tables on this loopback port; 0 lets the system choose.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn start_on(port: u16) -> Result<Self, EngineError> {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let refused = |source| EngineError::Listen { address: asked, source };
        let listener = tokio::net::TcpListener::bind(asked).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let database = dynoxide::Database::memory().map_err(|error| EngineError::Database(error.to_string()))?;
        let (shutdown, asked_to_stop) = oneshot::channel::<()>();
        // A dropped sender ends the wait just as a sent signal does: that is what makes dropping the engine enough.
        let until_stopped = async move { drop(asked_to_stop.await) };
        let server = tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database, until_stopped));
        Ok(Self {
            address,
            shutdown,
            server,
        })
    }

    /// Where the engine listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint for the SDK.
    pub fn endpoint_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of this engine that needs nothing from its surroundings.
    pub fn client(&self) -> aws_sdk_dynamodb::Client {
        client(&self.endpoint_url())
    }

    /// Stops the engine and waits until it no longer listens. Requests under way may finish, for two seconds.
    ///
    /// # Errors
    /// [`EngineError::Server`] if the server had failed before.
    pub async fn stop(self) -> Result<(), EngineError> {
        drop(self.shutdown);
        let mut server = self.server;
        match tokio::time::timeout(STOP_PATIENCE, &mut server).await {
            Ok(Ok(served)) => served.map_err(EngineError::Server),
            Ok(Err(panicked)) => Err(EngineError::Server(panicked.to_string())),
            Err(_) => {
                server.abort();
                Ok(())
            }
        }
    }
}
