//! `replay serve`: the embedded engine with the table, for other clients.

use limiter_aggregator::engine::{self, Engine};

use crate::args::ServeArguments;
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::target::{Place, engine_client, engine_failure};

/// The table's name.
const TABLE: &str = "rate-limits";

/// Serves until Ctrl-C.
///
/// # Errors
/// Where the items cannot be read or the engine does not start.
pub async fn serve(arguments: &ServeArguments, output: &mut Output) -> Result<(), Failure> {
    let items = arguments.items.as_deref().map(input::read_items).transpose()?;
    let engine = Engine::start_on(arguments.port).await.map_err(engine_failure)?;
    let place = Place {
        client: engine_client(&engine),
        name: TABLE.to_owned(),
    };
    engine::create_table(&place.client, &place.name)
        .await
        .map_err(engine_failure)?;
    if let (Some(items), Some(path)) = (&items, &arguments.items) {
        place.put(items, path).await?;
    }
    output.line(format!("endpoint {}", engine.endpoint_url()));
    output.line(format!("table    {TABLE}"));
    output.line("any region and credentials will do; Ctrl-C ends it");
    output.flush();
    tokio::signal::ctrl_c()
        .await
        .map_err(|error| Failure::new(format!("cannot wait for Ctrl-C: {error}")))?;
    engine.stop().await.map_err(engine_failure)
}
