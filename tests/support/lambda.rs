//! The Lambda's own program as a process, with everything that it writes.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::runtime_api::RuntimeApi;

/// How long a test waits for the process to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running function. Dropping it kills it.
pub struct Lambda {
    child: Child,
    output: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What is set for every function; a test's own variables come on top.
pub fn base_environment(endpoint_url: &str, api: &str) -> Vec<(String, String)> {
    [
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoint_url),
        ("AWS_LAMBDA_RUNTIME_API", api),
        ("AWS_LAMBDA_FUNCTION_NAME", "f"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

impl Lambda {
    /// Starts the program with these variables and nothing else in its environment.
    pub fn spawn(environment: &[(String, String)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bootstrap"))
            .env_clear()
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = Arc::new(Mutex::new(Vec::new()));
        let readers = vec![
            gather(child.stdout.take().unwrap(), &output),
            gather(child.stderr.take().unwrap(), &output),
        ];
        Self { child, output, readers }
    }

    /// Starts the program against an endpoint and a runtime API, on the table `buckets`.
    pub fn start(endpoint_url: &str, api: &RuntimeApi, variables: &[(&str, &str)]) -> Self {
        let mut environment = base_environment(endpoint_url, &api.address());
        environment.push(("TABLE_NAME".to_owned(), super::scene::TABLE.to_owned()));
        let own = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        environment.extend(own);
        Self::spawn(&environment)
    }

    /// Everything written so far, to standard output and standard error.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// Waits until so many lines with this text are there: a line is written before its invocation is answered, but
    /// read here by another thread.
    pub async fn has_written(&self, text: &str, times: usize) {
        let began = Instant::now();
        loop {
            let output = self.output();
            let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if whole.matches(text).count() >= times {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "no such line: {output}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The lines written so far, as JSON.
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.output().lines().map(parse).collect()
    }

    /// Asks the process to end, as Lambda does.
    pub fn terminate(&self) {
        let kill = Command::new("sh")
            .arg("-c")
            .arg(format!("kill -TERM {}", self.child.id()))
            .status();
        assert!(kill.unwrap().success());
    }

    /// Waits for the end; gives everything that was ever written.
    pub async fn ended(mut self) -> (ExitStatus, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "the process does not end: {}",
                self.output()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        for reader in std::mem::take(&mut self.readers) {
            reader.join().unwrap();
        }
        (status, self.output())
    }
}

impl Drop for Lambda {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn gather(mut from: impl Read + Send + 'static, into: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let into = Arc::clone(into);
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            into.lock().unwrap().extend_from_slice(&piece[..length]);
        }
    })
}
