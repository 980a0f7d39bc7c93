//! The hostile wire: a loopback proxy between the SDK and an engine that does to each request what a script says.
//!
//! It speaks HTTP/1.1 on bare sockets, because half of what it acts out (resets, closes, silence) happens below
//! HTTP. What must stay true: a request is counted and recorded before the script is asked, scripts can be changed
//! and counters read while requests are under way, and what passes is passed byte for byte.
//!
//! ```ignore
//! let proxy = Proxy::start(engine.address()).await;
//! let client = client(&proxy.endpoint_url());
//! proxy.on("UpdateItem", [Step::Answer(Answer::throughput_exceeded()), Step::ResetAfter]);
//! ```

mod answer;
mod connection;
mod keep_back;
pub(crate) mod message;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use answer::{Answer, Reason};
pub use script::{Call, Step};

use super::policy::{self, Need};
use message::Message;
use script::Script;

/// A running proxy and the handle to its script and counters. Dropping it cuts every connection.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// For example `UpdateItem`.
    pub operation: String,
    /// Path of the request, as sent.
    pub path: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// How often an operation was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Requests that reached the proxy.
    pub received: usize,
    /// Requests the engine answered.
    pub forwarded: usize,
}

struct Shared {
    engine: SocketAddr,
    state: Mutex<State>,
    /// Told when idle connections are to be closed; what it carries does not matter.
    closing: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    script: Script,
    counts: BTreeMap<String, Count>,
    connections: usize,
    recording: bool,
    recorded: Vec<Recorded>,
    policed: bool,
    refused: BTreeSet<Need>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a script panicked")
    }

    /// Counts and records a request, then asks the script.
    fn decide(&self, operation: &str, request: &Message) -> Step {
        let mut state = self.state();
        let count = state.counts.entry(operation.to_owned()).or_default();
        count.received += 1;
        let nth = count.received;
        let overall = state.counts.values().map(|count| count.received).sum();
        if state.policed {
            state.refused.extend(policy::refused(operation, &request.body));
        }
        if state.recording {
            state.recorded.push(Recorded {
                operation: operation.to_owned(),
                path: request.path().to_owned(),
                body: request.body.clone(),
            });
        }
        state.script.step(&Call {
            operation,
            nth,
            overall,
            body: &request.body,
        })
    }

    fn forwarded(&self, operation: &str) {
        self.state().counts.entry(operation.to_owned()).or_default().forwarded += 1;
    }
}

impl Proxy {
    /// Starts a proxy in front of the engine at this address. It passes everything until told otherwise.
    pub async fn start(engine: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a loopback port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            engine,
            state: Mutex::default(),
            closing: watch::Sender::new(()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            accepting,
        }
    }

    /// The endpoint for the SDK.
    pub fn endpoint_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does these to the next requests of the operation, one each. They come after what is still listed for it, and
    /// before whatever is said of requests in general.
    pub fn on(&self, operation: &str, steps: impl IntoIterator<Item = Step>) {
        self.shared.state().script.list(operation, steps);
    }

    /// Does these to the next requests that no list of their own operation claims, one each.
    pub fn next(&self, steps: impl IntoIterator<Item = Step>) {
        self.shared.state().script.list_any(steps);
    }

    /// Asks this for every request that no list claims, instead of what was asked so far.
    pub fn script(&self, decide: impl FnMut(&Call) -> Step + Send + 'static) {
        self.shared.state().script.otherwise(decide);
    }

    /// Does this to every request of the operation that no list claims. Takes the place of [`Proxy::script`].
    pub fn always(&self, operation: &'static str, step: Step) {
        self.script(move |call| {
            if call.operation == operation {
                step.clone()
            } else {
                Step::Pass
            }
        });
    }

    /// Forgets every script: everything passes.
    pub fn pass_all(&self) {
        self.shared.state().script = Script::default();
    }

    /// How often the operation was asked for since the start or the last [`Proxy::reset_counts`].
    pub fn count(&self, operation: &str) -> usize {
        self.shared
            .state()
            .counts
            .get(operation)
            .map_or(0, |count| count.received)
    }

    /// How often the engine answered the operation.
    pub fn forwarded(&self, operation: &str) -> usize {
        self.shared
            .state()
            .counts
            .get(operation)
            .map_or(0, |count| count.forwarded)
    }

    /// Every operation that was asked for.
    pub fn counts(&self) -> BTreeMap<String, Count> {
        self.shared.state().counts.clone()
    }

    /// How many requests of any operation came in.
    pub fn requests(&self) -> usize {
        self.shared.state().counts.values().map(|count| count.received).sum()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Counts requests and connections from 0 again; [`Call::nth`] too.
    pub fn reset_counts(&self) {
        let mut state = self.shared.state();
        state.counts.clear();
        state.connections = 0;
    }

    /// Records bodies from now on.
    pub fn record(&self) {
        self.shared.state().recording = true;
    }

    /// What was recorded, in order of arrival.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.shared.state().recorded.clone()
    }

    /// The recorded bodies of one operation, in order of arrival.
    pub fn bodies(&self, operation: &str) -> Vec<Vec<u8>> {
        let state = self.shared.state();
        let of_operation = state.recorded.iter().filter(|recorded| recorded.operation == operation);
        of_operation.map(|recorded| recorded.body.clone()).collect()
    }

    /// Holds requests to the table against the role's policy from now on.
    pub fn police(&self) {
        self.shared.state().policed = true;
    }

    /// What was asked for since then that the policy does not allow.
    pub fn refused(&self) -> BTreeSet<Need> {
        self.shared.state().refused.clone()
    }

    /// Closes every connection that waits for a request, as a service does with idle ones.
    pub fn close_idle_connections(&self) {
        self.shared.closing.send_replace(());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Accepts connections for ever. They end with this task, which owns them.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        shared.state().connections += 1;
        connections.spawn(connection::serve(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}
