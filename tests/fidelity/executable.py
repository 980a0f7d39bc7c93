"""Prints the executable of the target that is named, from cargo's messages on standard input."""

import json
import sys

messages = [json.loads(line) for line in sys.stdin]
paths = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == sys.argv[1]]
print(paths[-1])
