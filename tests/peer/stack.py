"""A table as the library's own deployment leaves it, on the embedded engine."""

import json
from pathlib import Path

from engine import Engine

ENVIRONMENT = {
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_EC2_METADATA_DISABLED": "true",
}
NAMESPACE = "e2eNspcA"


def registry():
    """What the library's own deployment leaves in a table: the namespace, and the version that clients check."""
    text = lambda **values: {name: {"S": value} for name, value in values.items()}
    system = text(PK="_/SYSTEM#", GSI4PK="_", GSI4SK="_/SYSTEM#")
    named = text(namespace_id=NAMESPACE, namespace_name="default", status="active", created_at="2026-12-01T00:00:00Z")
    versions = text(schema_version="0.10.0", lambda_version="0.17.0", client_min_version="0.0.0")
    return [
        system | named | text(SK="#NAMESPACE#default"),
        system | named | text(SK=f"#NSID#{NAMESPACE}"),
        text(PK="_/SYSTEM#", SK="#VERSION") | versions,
    ]


def served(replay, folder, items=()):
    """The engine with such a table, and these items in it beside."""
    path = Path(folder) / "items.json"
    path.write_text(json.dumps([*registry(), *items]))
    return Engine(replay, path)
