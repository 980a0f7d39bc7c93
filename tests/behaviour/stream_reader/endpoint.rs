//! A scripted service of streams: shards with parents, records that expire, iterators, and faults on request.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use aws_sdk_dynamodbstreams::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::proxy::message::{Message, Wire};
use crate::support::streams::streams_client;

/// One shard. Its records are known by their sequence numbers.
#[derive(Clone, Default)]
pub struct Shard {
    pub id: &'static str,
    pub parent: Option<&'static str>,
    pub is_closed: bool,
    pub records: Vec<u64>,
    /// Records up to here have expired.
    pub expired: u64,
}

#[derive(Default)]
pub struct Script {
    pub shards: Vec<Shard>,
    /// Most records that a page holds, and shards that a description holds.
    pub page: usize,
    /// Refusals of the next requests that begin so: an operation, and perhaps what it is about.
    pub refusals: VecDeque<(&'static str, &'static str)>,
    /// Every request: operation, and what it was about.
    pub asked: Vec<(String, String)>,
}

pub struct Endpoint {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    serving: JoinHandle<()>,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Endpoint {
    pub async fn start(shards: Vec<Shard>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script {
            shards,
            page: 2,
            ..Script::default()
        }));
        let shared = Arc::clone(&script);
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(Wire::new(stream).unwrap(), Arc::clone(&shared)));
            }
        });
        Self {
            address,
            script,
            serving,
        }
    }

    pub fn client(&self) -> Client {
        streams_client(&format!("http://{}", self.address))
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// What was asked of an operation.
    pub fn asked(&self, operation: &str) -> Vec<String> {
        let script = self.script();
        let of_it = script.asked.iter().filter(|(found, _)| found == operation);
        of_it.map(|(_, about)| about.clone()).collect()
    }
}

async fn serve(mut wire: Wire, script: Arc<Mutex<Script>>) {
    while let Ok(request) = wire.read().await {
        let operation = request
            .header("x-amz-target")
            .unwrap()
            .split('.')
            .nth(1)
            .unwrap()
            .to_owned();
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let (status, answer) = match script.lock().unwrap().answer(&operation, &body) {
            Ok(answer) => (200, answer),
            Err(code) => (
                400,
                json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{code}") }),
            ),
        };
        let body = answer.to_string().into_bytes();
        let head = format!(
            "HTTP/1.1 {status} scripted\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        wire.write(&Message { head, body }).await.unwrap();
    }
}

impl Script {
    fn answer(&mut self, operation: &str, body: &Value) -> Result<Value, &'static str> {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let about = match operation {
            "DescribeStream" => text("ExclusiveStartShardId"),
            "GetShardIterator" => format!(
                "{} {} {}",
                text("ShardId"),
                text("ShardIteratorType"),
                text("SequenceNumber")
            ),
            _ => text("ShardIterator"),
        };
        let request = format!("{operation} {about}");
        self.asked.push((operation.to_owned(), about.trim().to_owned()));
        if self
            .refusals
            .front()
            .is_some_and(|(refused, _)| request.starts_with(refused))
        {
            return Err(self.refusals.pop_front().unwrap().1);
        }
        match operation {
            "DescribeStream" => Ok(self.describe(&text("ExclusiveStartShardId"))),
            "GetShardIterator" => self.iterator(&text("ShardId"), &text("ShardIteratorType"), &text("SequenceNumber")),
            "GetRecords" => self.records(&text("ShardIterator")),
            other => panic!("{other}"),
        }
    }

    fn describe(&self, after: &str) -> Value {
        let first = self
            .shards
            .iter()
            .position(|shard| shard.id == after)
            .map_or(0, |at| at + 1);
        let end = self.shards.len().min(first + self.page);
        let shown: Vec<Value> = self.shards[first..end]
            .iter()
            .map(|shard| {
                let last = shard.records.last().copied().unwrap_or(1).to_string();
                let mut range = json!({ "StartingSequenceNumber": "1" });
                if shard.is_closed {
                    range["EndingSequenceNumber"] = last.into();
                }
                json!({ "ShardId": shard.id, "ParentShardId": shard.parent, "SequenceNumberRange": range })
            })
            .collect();
        let last = (end < self.shards.len()).then(|| self.shards[end - 1].id);
        json!({ "StreamDescription": { "Shards": shown, "LastEvaluatedShardId": last } })
    }

    fn shard(&self, id: &str) -> Result<&Shard, &'static str> {
        self.shards
            .iter()
            .find(|shard| shard.id == id)
            .ok_or("ResourceNotFoundException")
    }

    /// An iterator is the shard and the sequence number that the next record is above.
    fn iterator(&self, id: &str, kind: &str, sequence: &str) -> Result<Value, &'static str> {
        let shard = self.shard(id)?;
        let above = match kind {
            "TRIM_HORIZON" => shard.expired,
            "LATEST" => shard.records.last().copied().unwrap_or(0),
            "AT_SEQUENCE_NUMBER" => sequence.parse::<u64>().unwrap() - 1,
            _ => sequence.parse().unwrap(),
        };
        if above < shard.expired {
            return Err("TrimmedDataAccessException");
        }
        Ok(json!({ "ShardIterator": format!("{id}|{above}") }))
    }

    fn records(&self, iterator: &str) -> Result<Value, &'static str> {
        let (id, above) = iterator.split_once('|').unwrap();
        let (shard, above) = (self.shard(id)?, above.parse::<u64>().unwrap());
        if above < shard.expired {
            return Err("TrimmedDataAccessException");
        }
        let page: Vec<u64> = shard
            .records
            .iter()
            .copied()
            .filter(|at| *at > above)
            .take(self.page)
            .collect();
        let last = page.last().copied().unwrap_or(above);
        let more = !shard.is_closed || shard.records.iter().any(|at| *at > last);
        let next = more.then(|| format!("{id}|{last}"));
        let record = |at: &u64| {
            json!({
                "eventID": at.to_string(),
                "eventName": "MODIFY",
                "dynamodb": { "Keys": { "PK": { "S": "p" } }, "SequenceNumber": at.to_string() },
            })
        };
        Ok(json!({ "Records": page.iter().map(record).collect::<Vec<_>>(), "NextShardIterator": next }))
    }
}
