//! The Lambda's program itself, under a runtime API of the tests' own: what it answers, what it writes, how it ends.

mod configuration;
mod life;
mod secrecy;

use std::time::Duration;

use crate::support::captures::Capture;
use crate::support::lambda::Lambda;
use crate::support::runtime_api::RuntimeApi;
use crate::support::scene::Scene;

/// A timeout that no test reaches.
const AMPLE: Duration = Duration::from_secs(30);

/// A function on a capture's table.
struct Stage {
    scene: Scene,
    api: RuntimeApi,
    lambda: Lambda,
}

impl Stage {
    async fn on(capture: &Capture, variables: &[(&str, &str)]) -> Self {
        let scene = Scene::with(&capture.items).await;
        let api = RuntimeApi::start().await;
        let lambda = Lambda::start(&scene.proxy.endpoint_url(), &api, variables);
        api.ready().await;
        Self { scene, api, lambda }
    }
}
