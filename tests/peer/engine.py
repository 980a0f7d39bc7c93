"""The embedded engine, in a process of its own."""

import subprocess

import boto3

TABLE = "rate-limits"


class Engine:
    def __init__(self, program, items=None):
        """Serves the table, with the items of this file where one is given."""
        command = [program, "serve", "--port", "0", *(["--items", items] if items else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.client = boto3.client(
            "dynamodb", endpoint_url=self.url, region_name="eu-central-1", aws_access_key_id="none", aws_secret_access_key="none"
        )

    def table(self, name):
        """A table like the one that is served."""
        served = self.client.describe_table(TableName=TABLE)["Table"]
        indexes = {
            kind: [{key: index[key] for key in ("IndexName", "KeySchema", "Projection")} for index in served[kind]]
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        }
        self.client.create_table(
            TableName=name,
            KeySchema=served["KeySchema"],
            AttributeDefinitions=served["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            **indexes,
        )
        return name

    def put(self, table, items):
        for start in range(0, len(items), 25):
            requests = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            self.client.batch_write_item(RequestItems={table: requests})

    def items(self, table=TABLE):
        pages = self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for read in pages for item in read["Items"]]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
