"""The published aggregator on a live stream: batches of up to 100 records, until nothing comes for a while.

Its settings come from the environment, as in Lambda. Says at its end how many records it was given.
"""

import contextlib
import io
import json
import os
import sys
import time

import boto3

IDLE_S = float(sys.argv[1])


def jsonable(record):
    """A record as Lambda would deliver it."""
    change = dict(record["dynamodb"])
    change["ApproximateCreationDateTime"] = change["ApproximateCreationDateTime"].timestamp()
    return record | {"dynamodb": change}


def main():
    from zae_limiter_aggregator.handler import handler

    endpoint, table = os.environ["AWS_ENDPOINT_URL"], os.environ["TABLE_NAME"]
    arn = boto3.client("dynamodb", endpoint_url=endpoint).describe_table(TableName=table)["Table"]["LatestStreamArn"]
    streams = boto3.client("dynamodbstreams", endpoint_url=endpoint)
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    records, failures, busy = 0, 0, time.monotonic()
    while iterator and time.monotonic() - busy < IDLE_S:
        page = streams.get_records(ShardIterator=iterator, Limit=100)
        iterator = page.get("NextShardIterator")
        if page["Records"]:
            records += len(page["Records"])
            with contextlib.redirect_stdout(io.StringIO()):
                answer = handler({"Records": [jsonable(record) for record in page["Records"]]}, None)
            failures += len(answer.get("batchItemFailures", []) or answer.get("body", {}).get("errors", []))
            busy = time.monotonic()
        else:
            time.sleep(0.2)
    print(json.dumps({"end": True, "records": records, "failures": failures}))


main()
