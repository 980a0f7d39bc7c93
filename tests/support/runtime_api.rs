//! Lambda's runtime API, as far as one function process needs it: it asks for the next invocation, and answers it.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::proxy::message::{Message, Wire};

/// How long a test waits for a function to answer at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running API for one function.
pub struct RuntimeApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    answers: tokio::sync::Mutex<mpsc::UnboundedReceiver<Answer>>,
    serving: tokio::task::JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    queued: Notify,
    answered: mpsc::UnboundedSender<Answer>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    under_way: Option<Instant>,
    number: u64,
    /// Everything that the function ever sent here.
    received: String,
    /// How often it asked for work.
    asked: u64,
}

struct Pending {
    event: String,
    timeout: Duration,
}

/// What the function made of an invocation.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The response, or the error report.
    pub result: Result<Value, Value>,
    /// From the function's taking it to its answer.
    pub took: Duration,
}

impl Answer {
    /// The sequence numbers to be delivered again. Panics if the invocation failed as a whole.
    pub fn failures(&self) -> Vec<String> {
        let response = self.result.as_ref().expect("a response");
        let failures = response["batchItemFailures"].as_array().expect("a batch response");
        let identifier = |failure: &Value| failure["itemIdentifier"].as_str().unwrap().to_owned();
        failures.iter().map(identifier).collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl RuntimeApi {
    /// Starts the API on a loopback port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answered, answers) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            queued: Notify::new(),
            answered,
        });
        let serving = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            answers: tokio::sync::Mutex::new(answers),
            serving,
        }
    }

    /// What Lambda sets `AWS_LAMBDA_RUNTIME_API` to.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Invokes the function and waits for its answer.
    pub async fn invoke(&self, event: &str, timeout: Duration) -> Answer {
        let event = event.to_owned();
        self.shared.state().waiting.push_back(Pending { event, timeout });
        self.shared.queued.notify_one();
        let mut answers = self.answers.lock().await;
        let answer = tokio::time::timeout(PATIENCE, answers.recv()).await;
        answer.expect("the function answers").unwrap()
    }

    /// Waits until the function has finished init and asked for work.
    pub async fn ready(&self) {
        let asked = async {
            while self.shared.state().asked == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .expect("the function asks for work");
    }

    /// Everything that the function sent here, whatever it was.
    pub fn received(&self) -> String {
        self.shared.state().received.clone()
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

/// Errors are how connections end.
async fn serve(stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    let mut wire = Wire::new(stream)?;
    while wire.begun().await? {
        let request = wire.read().await?;
        let path = request.head.split(' ').nth(1).unwrap_or_default().to_owned();
        let answer = match path.rsplit('/').next().unwrap_or_default() {
            "next" => next(&shared).await,
            kind => {
                take_answer(&shared, kind, &request);
                message("202 Accepted", "", r#"{"status":"OK"}"#)
            }
        };
        wire.write(&answer).await?;
    }
    Ok(())
}

async fn next(shared: &Shared) -> Message {
    shared.state().asked += 1;
    loop {
        let taken = {
            let mut state = shared.state();
            let taken = state.waiting.pop_front();
            if taken.is_some() {
                state.under_way = Some(Instant::now());
                state.number += 1;
            }
            taken.map(|pending| (pending, state.number))
        };
        let Some((Pending { event, timeout }, number)) = taken else {
            shared.queued.notified().await;
            continue;
        };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let deadline = (since_epoch + timeout).as_millis();
        let headers = format!(
            "lambda-runtime-aws-request-id: request-{number}\r\nlambda-runtime-deadline-ms: {deadline}\r\n\
             lambda-runtime-invoked-function-arn: arn:aws:lambda:us-east-1:000000000000:function:f\r\n"
        );
        return message("200 OK", &headers, &event);
    }
}

fn take_answer(shared: &Shared, kind: &str, request: &Message) {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let mut state = shared.state();
    state.received.push_str(&request.head);
    state.received.push_str(&body);
    let Some(began) = state.under_way.take() else { return };
    let value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let answer = Answer {
        result: if kind == "response" { Ok(value) } else { Err(value) },
        took: began.elapsed(),
    };
    // The test that asked may be gone.
    let _gone = shared.answered.send(answer);
}

fn message(status: &str, headers: &str, body: &str) -> Message {
    Message {
        head: format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        ),
        body: body.as_bytes().to_vec(),
    }
}
