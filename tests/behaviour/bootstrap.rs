//! The Lambda's program itself, under a runtime API of the tests' own: what it answers, what it writes, how it ends.

mod configuration;
mod life;
mod secrecy;
mod warnings;

use std::cell::Cell;
use std::time::Duration;

use serde_json::Value;

use crate::support::captures::Capture;
use crate::support::lambda::Lambda;
use crate::support::runtime_api::{Answer, RuntimeApi};
use crate::support::scene::Scene;

/// The lines with this message.
pub fn of_message<'l>(lines: &'l [Value], message: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["message"] == message).collect()
}

/// A timeout that no test reaches.
pub const AMPLE: Duration = Duration::from_secs(30);

/// A function on a capture's table.
pub struct Stage {
    scene: Scene,
    api: RuntimeApi,
    pub lambda: Lambda,
    invocations: Cell<usize>,
}

impl Stage {
    pub async fn on(capture: &Capture, variables: &[(&str, &str)]) -> Self {
        let scene = Scene::with(&capture.items).await;
        let api = RuntimeApi::start().await;
        let lambda = Lambda::start(&scene.proxy.endpoint_url(), &api, variables);
        api.ready().await;
        let invocations = Cell::new(0);
        Self {
            scene,
            api,
            lambda,
            invocations,
        }
    }

    /// Invokes the function, and waits for its answer and for the last line about it.
    pub async fn invoke(&self, event: &str, timeout: Duration) -> Answer {
        let answer = self.api.invoke(event, timeout).await;
        self.invocations.set(self.invocations.get() + 1);
        self.lambda.has_written("\"_aws\"", self.invocations.get()).await;
        answer
    }
}
