"""Lambda's runtime interface, as far as a function needs it, and a function that runs behind it."""

import json
import os
import queue
import subprocess
import time
from pathlib import Path

import loopback

TIMEOUT_S = 900


class Runtime:
    """Hands out one event at a time and takes its response."""

    def __init__(self):
        self.events, self.responses = queue.Queue(), queue.Queue()
        runtime = self

        class Handler(loopback.Handler):
            def do_GET(self):
                body = runtime.events.get()
                self.answer(
                    200,
                    {
                        "Content-Type": "application/json",
                        "Lambda-Runtime-Aws-Request-Id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
                        "Lambda-Runtime-Deadline-Ms": str((int(time.time()) + TIMEOUT_S) * 1_000),
                        "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:123456789012:function:aggregator",
                    },
                    body,
                )

            def do_POST(self):
                runtime.responses.put((self.path, self.body(), time.perf_counter()))
                self.answer(202, {})

        self.server, self.address = loopback.serve(Handler)


class Function:
    """A function's process, from its start to its end."""

    def __init__(self, command, environment):
        self.runtime = Runtime()
        base = {
            "AWS_LAMBDA_RUNTIME_API": self.runtime.address,
            "AWS_LAMBDA_FUNCTION_NAME": "aggregator",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
            "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/aggregator",
            "AWS_LAMBDA_LOG_STREAM_NAME": "1",
            "AWS_REGION": "eu-central-1",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_EC2_METADATA_DISABLED": "true",
            "PATH": os.environ["PATH"],
        }
        self.started = time.perf_counter()
        self.process = subprocess.Popen(command, env=base | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def invoke(self, event):
        """Seconds from the event's hand-over to its answer, and CPU seconds of the process meanwhile."""
        body = json.dumps(event).encode()
        cpu, begin = self.cpu_s(), time.perf_counter()
        self.runtime.events.put(body)
        path, answer, end = self.runtime.responses.get(timeout=TIMEOUT_S)
        if not path.endswith("/response"):
            raise RuntimeError(f"the function failed: {answer.decode()}")
        # The process may still be closing its books on this invocation.
        time.sleep(0.01)
        check(json.loads(answer), len(event["Records"]))
        return end - begin, self.cpu_s() - cpu, end - self.started

    def cpu_s(self):
        """CPU time of the threads that run, to the nanosecond."""
        total = 0
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            total += int(path.read_text().split()[0])
        return total / 1e9

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            (line,) = (line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.runtime.server.shutdown()


def check(answer, records):
    """A figure of work that was not done would be worthless."""
    if "batchItemFailures" in answer:
        if answer["batchItemFailures"]:
            raise RuntimeError(f"records were left undone: {answer}")
    elif answer["body"]["processed"] != records or answer["body"]["errors"]:
        raise RuntimeError(f"records were left undone: {str(answer)[:500]}")
