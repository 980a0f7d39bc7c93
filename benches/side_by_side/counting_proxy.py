"""A proxy before the engine that counts what a function asks of it."""

import http.client
import json
import threading
from collections import Counter

import loopback

# Of the operations that a function may call, those that tell what they consume, as reads and as writes.
READS = {"GetItem", "BatchGetItem", "Query", "TransactGetItems"}
WRITES = {"UpdateItem", "PutItem", "TransactWriteItems"}

OF_THE_CONNECTION = {"host", "content-length", "connection", "expect", "accept-encoding"}


class CountingProxy:
    """Passes requests on, counts them, and asks for and adds up what they consume."""

    def __init__(self, url):
        self.reset()
        lock, proxy, engine = threading.Lock(), self, url.removeprefix("http://")

        class Handler(loopback.Handler):
            def setup(self):
                super().setup()
                self.engine = http.client.HTTPConnection(engine)

            def do_POST(self):
                body = self.body()
                operation = self.headers["X-Amz-Target"].partition(".")[2]
                if operation in READS | WRITES:
                    body = json.dumps(json.loads(body) | {"ReturnConsumedCapacity": "TOTAL"}).encode()
                headers = {name: value for name, value in self.headers.items() if name.lower() not in OF_THE_CONNECTION}
                self.engine.request("POST", "/", body, headers)
                answer = self.engine.getresponse()
                content = answer.read()
                with lock:
                    proxy.add(operation, json.loads(content))
                self.answer(answer.status, {"Content-Type": answer.headers["Content-Type"]}, content)

        self.server, address = loopback.serve(Handler)
        self.url = f"http://{address}"

    def reset(self):
        self.calls, self.write_units, self.read_units = Counter(), 0.0, 0.0

    def add(self, operation, answer):
        self.calls[operation] += 1
        consumed = answer.get("ConsumedCapacity", [])
        units = sum(each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed]))
        if operation in READS:
            self.read_units += units
        else:
            self.write_units += units

    def take(self):
        """What was counted since the last time."""
        counted = dict(self.calls), self.write_units, self.read_units
        self.reset()
        return counted

    def stop(self):
        self.server.shutdown()
