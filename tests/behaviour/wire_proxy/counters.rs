//! Scripts and counters: which request gets which step, and what is known of it afterwards.

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use limiter_aggregator::engine::{client, create_table, scan_items};

use super::{Setup, TABLE, add, adds};
use crate::support::proxy::{Answer, Call, Count, Step};

#[tokio::test]
async fn a_proxy_without_a_script_passes_everything_and_counts_it() {
    let setup = Setup::new().await;
    let client = client(&setup.proxy.endpoint_url());
    create_table(&client, "second").await.unwrap();
    for _ in 0..3 {
        add(&client).await.unwrap();
    }
    client
        .transact_write_items()
        .set_transact_items(Some(adds(2)))
        .send()
        .await
        .unwrap();
    assert_eq!(scan_items(&client, TABLE).await.unwrap().len(), 3);
    let once = Count {
        received: 1,
        forwarded: 1,
    };
    let expected = [
        ("CreateTable", once),
        ("Scan", once),
        ("TransactWriteItems", once),
        (
            "UpdateItem",
            Count {
                received: 3,
                forwarded: 3,
            },
        ),
        ("UpdateTimeToLive", once),
    ];
    assert_eq!(
        setup.proxy.counts(),
        expected
            .map(|(name, count)| (name.to_owned(), count))
            .into_iter()
            .collect()
    );
    assert_eq!((setup.proxy.requests(), setup.proxy.connections()), (7, 1));
    assert_eq!(setup.counter().await, 5);
    setup.proxy.reset_counts();
    assert_eq!(
        (
            setup.proxy.requests(),
            setup.proxy.connections(),
            setup.proxy.count("UpdateItem")
        ),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn an_error_of_the_engine_passes_too() {
    let setup = Setup::new().await;
    let error = scan_items(&client(&setup.proxy.endpoint_url()), "missing")
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "Scan failed: ResourceNotFoundException");
}

#[tokio::test]
async fn the_list_of_an_operation_comes_before_the_general_list_before_the_closure() {
    let setup = Setup::new().await;
    let client = setup.single();
    let refuse = |code: &str| Step::Answer(Answer::unknown_error(code));
    setup.proxy.script(|call: &Call| match (call.operation, call.nth) {
        ("UpdateItem", 4) => Step::Answer(Answer::unknown_error("fourth")),
        _ => Step::Pass,
    });
    setup.proxy.next([refuse("general")]);
    setup.proxy.on("UpdateItem", [refuse("own"), Step::Pass]);
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(
            add(&client)
                .await
                .map_or_else(|error| error.code().unwrap().to_owned(), |_| "passed".to_owned()),
        );
    }
    assert_eq!(codes, ["own", "passed", "general", "fourth", "passed"]);
}

#[tokio::test]
async fn a_script_can_be_withdrawn_while_requests_are_under_way() {
    let setup = Setup::new().await;
    setup
        .proxy
        .always("UpdateItem", Step::Answer(Answer::throughput_exceeded()));
    let client = setup.single();
    let adding = tokio::spawn(async move {
        let mut refused = 0;
        while add(&client).await.is_err() {
            refused += 1;
        }
        refused
    });
    while setup.proxy.count("UpdateItem") < 5 {
        tokio::task::yield_now().await;
    }
    setup.proxy.pass_all();
    assert!(adding.await.unwrap() >= 4);
    assert_eq!((setup.proxy.forwarded("UpdateItem"), setup.counter().await), (1, 1));
}

#[tokio::test]
async fn a_script_can_decide_by_the_body() {
    let setup = Setup::new().await;
    setup.proxy.script(|call: &Call| {
        let third = String::from_utf8_lossy(call.body).contains("\"p2\"");
        if third {
            Step::Answer(Answer::validation())
        } else {
            Step::Pass
        }
    });
    let client = setup.single();
    client
        .transact_write_items()
        .set_transact_items(Some(adds(2)))
        .send()
        .await
        .unwrap();
    client
        .transact_write_items()
        .set_transact_items(Some(adds(3)))
        .send()
        .await
        .unwrap_err();
    assert_eq!(setup.counter().await, 2);
}

#[tokio::test]
async fn bodies_are_recorded_on_demand_and_in_order() {
    let setup = Setup::new().await;
    let client = setup.patient();
    add(&client).await.unwrap();
    assert!(setup.proxy.recorded().is_empty());
    setup.proxy.record();
    setup
        .proxy
        .on("UpdateItem", [Step::Answer(Answer::throughput_exceeded())]);
    add(&client).await.unwrap();
    scan_items(&client, TABLE).await.unwrap();
    let recorded = setup.proxy.recorded();
    let operations: Vec<_> = recorded.iter().map(|recorded| recorded.operation.as_str()).collect();
    assert_eq!(operations, ["UpdateItem", "UpdateItem", "Scan"]);
    let bodies = setup.proxy.bodies("UpdateItem");
    assert_eq!(bodies[0], bodies[1]);
    assert!(String::from_utf8_lossy(&bodies[0]).contains("ADD n :one"));
}

#[tokio::test]
async fn concurrent_requests_are_counted_each() {
    let setup = Setup::new().await;
    let client = setup.single();
    futures::future::join_all((0..40).map(|_| add(&client)))
        .await
        .into_iter()
        .for_each(|added| drop(added.unwrap()));
    assert_eq!((setup.proxy.count("UpdateItem"), setup.counter().await), (40, 40));
    assert!(setup.proxy.connections() <= 40);
}

#[tokio::test]
async fn dropping_the_proxy_ends_it() {
    let setup = Setup::new().await;
    let client = setup.single();
    let Setup { engine, proxy } = setup;
    scan_items(&client, TABLE).await.unwrap();
    drop(proxy);
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let error = scan_items(&client, TABLE).await.unwrap_err();
    assert_eq!(error.to_string(), "Scan failed: no answer");
    scan_items(&engine.client(), TABLE).await.unwrap();
}
