"""The engine, its tables, and a proxy that counts what a function asks of them."""

import http.client
import json
import subprocess
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3

# Of the operations that a function may call, those that tell what they consume.
TELLS_CAPACITY = {"UpdateItem", "PutItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems", "TransactGetItems"}

OF_THE_CONNECTION = {"host", "content-length", "connection", "expect", "accept-encoding"}


class Engine:
    """The embedded engine in a process of its own."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.client = boto3.client(
            "dynamodb", endpoint_url=self.url, region_name="eu-central-1", aws_access_key_id="none", aws_secret_access_key="none"
        )
        self.served = self.client.describe_table(TableName="rate-limits")["Table"]

    def table(self, name):
        """A table like the one the engine serves."""
        indexes = {
            kind: [{key: index[key] for key in ("IndexName", "KeySchema", "Projection")} for index in self.served[kind]]
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        }
        self.client.create_table(
            TableName=name,
            KeySchema=self.served["KeySchema"],
            AttributeDefinitions=self.served["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            **indexes,
        )
        return name

    def put(self, table, items):
        for start in range(0, len(items), 25):
            requests = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            self.client.batch_write_item(RequestItems={table: requests})

    def items(self, table):
        return self.client.scan(TableName=table, ConsistentRead=True)["Items"]

    def stop(self):
        self.process.terminate()
        self.process.wait()


class CountingProxy:
    """Passes requests on, counts them, and asks for and adds up what they consume."""

    def __init__(self, url):
        self.calls, self.write_units, self.read_units = Counter(), 0.0, 0.0
        lock, proxy, engine = threading.Lock(), self, url.removeprefix("http://")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                self.engine = http.client.HTTPConnection(engine)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].partition(".")[2]
                if operation in TELLS_CAPACITY:
                    body = json.dumps(json.loads(body) | {"ReturnConsumedCapacity": "TOTAL"}).encode()
                headers = {name: value for name, value in self.headers.items() if name.lower() not in OF_THE_CONNECTION}
                self.engine.request("POST", "/", body, headers)
                answer = self.engine.getresponse()
                content = answer.read()
                with lock:
                    proxy.calls[operation] += 1
                    proxy.add(operation, json.loads(content))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, operation, answer):
        consumed = answer.get("ConsumedCapacity", [])
        units = sum(each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed]))
        if operation in ("GetItem", "BatchGetItem", "Query", "TransactGetItems"):
            self.read_units += units
        else:
            self.write_units += units

    def take(self):
        """What was counted since the last time."""
        counted = dict(self.calls), self.write_units, self.read_units
        self.calls, self.write_units, self.read_units = Counter(), 0.0, 0.0
        return counted

    def stop(self):
        self.server.shutdown()
