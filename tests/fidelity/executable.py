"""Prints the last executable that cargo's messages on standard input name."""

import json
import sys

paths = [json.loads(line).get("executable") for line in sys.stdin]
print([path for path in paths if path][-1])
