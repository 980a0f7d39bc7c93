"""A stand-in for AWS on a loopback port: it records what it is asked for, and answers as little as a caller needs."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class StandIn:
    """Requests by service and operation, in order. `answers` holds JSON answers by operation."""

    def __init__(self, answers, refuse=None, port=0):
        self.requests = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                service = re.search(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/", self.headers["Authorization"]).group(1)
                operation, arguments = understood(service, self, body)
                stand_in.requests.append((service, operation, arguments))
                if refuse:
                    status, answer = refuse
                else:
                    status, answer = 200, answers.get(operation, {})
                xml = service in ("iam", "sts", "s3")
                text = (xml_answer(operation, answer) if service != "s3" else "") if xml else json.dumps(answer)
                self.send_response(status)
                self.send_header("Content-Type", "text/xml" if xml else "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(text)))
                # A connection that stays open would go on being answered after the stand-in's end.
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def operations(self):
        return [operation for _, operation, _ in self.requests]

    def arguments(self, operation):
        return [arguments for _, asked, arguments in self.requests if asked == operation]

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def understood(service, request, body):
    """The operation and its arguments. Where the protocol hides its name, method and path stand for it."""
    if service == "dynamodb":
        return request.headers["X-Amz-Target"].split(".")[1], json.loads(body)
    if service in ("iam", "sts"):
        form = {key: value for key, (value,) in parse_qs(body).items()}
        return form["Action"], form
    place = f"{request.command} {request.path.rstrip('/')}"
    return place, json.loads(body) if service == "lambda" and body else body


def xml_answer(operation, answer):
    def element(name, value):
        inner = "".join(element(*pair) for pair in value.items()) if isinstance(value, dict) else value
        return f"<{name}>{inner}</{name}>"

    return element(f"{operation}Response", {f"{operation}Result": answer})
