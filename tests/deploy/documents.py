"""The documents in `deploy/`, for those who deploy without the template, as the template has it.

`python tests/deploy/documents.py` writes them again after the template has changed.
"""

import json
from pathlib import Path

import cloudformation

ROOT = Path(__file__).resolve().parents[2]
TABLE_ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/rate-limits"
STREAM_ARN = TABLE_ARN + "/stream/2026-11-02T00:00:00.000"
LOG_GROUP_ARN = "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/lambda/limiter-aggregator"

# What the template's form beside an existing table says, and what stands for it in a document. Longer texts first.
PLACEHOLDERS = [
    (STREAM_ARN, "@STREAM_ARN@"),
    (TABLE_ARN, "@TABLE_ARN@"),
    (LOG_GROUP_ARN, "@LOG_GROUP_ARN@"),
    ("<FailureBucket.Arn>", "arn:aws:s3:::@FAILURE_BUCKET@"),
    ("<Function>", "@FUNCTION@"),
]


def documents():
    """Every document's text by its path."""
    template = cloudformation.load(ROOT / "template.yaml")
    form = cloudformation.Form(template, TableName="rate-limits", StreamArn=STREAM_ARN)
    role = form.only("AWS::IAM::Role")
    contents = {
        "trust.json": role["AssumeRolePolicyDocument"],
        "policy.json": role["Policies"][0]["PolicyDocument"],
        "mapping.json": form.only("AWS::Lambda::EventSourceMapping"),
    }
    return {ROOT / "deploy" / name: _text(content) for name, content in contents.items()}


def _text(content):
    text = json.dumps(content, indent=2) + "\n"
    for said, placeholder in PLACEHOLDERS:
        text = text.replace(said, placeholder)
    return text


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text)
