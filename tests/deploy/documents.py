"""The documents in `deploy/`, for those who deploy without the template, as the template has it.

`python tests/deploy/documents.py` writes them again after the template has changed.
"""

import json
from pathlib import Path

import cloudformation

ROOT = Path(__file__).resolve().parents[2]
TABLE_ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/rate-limits"
STREAM_ARN = TABLE_ARN + "/stream/2026-11-02T00:00:00.000"
ARCHIVE_BUCKET = "the-archive"
LOG_GROUP_ARN = "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/lambda/limiter-aggregator"

# What the template's form beside an existing table says, and what stands for it in a document. Longer texts first.
PLACEHOLDERS = [
    (STREAM_ARN, "@STREAM_ARN@"),
    (TABLE_ARN, "@TABLE_ARN@"),
    (LOG_GROUP_ARN, "@LOG_GROUP_ARN@"),
    ("<FailureBucket.Arn>", "arn:aws:s3:::@FAILURE_BUCKET@"),
    ("<Function>", "@FUNCTION@"),
    (f"arn:aws:s3:::{ARCHIVE_BUCKET}/", "arn:aws:s3:::@ARCHIVE_BUCKET@/"),
]


def documents():
    """Every document's text by its path."""
    template = cloudformation.load(ROOT / "template.yaml")
    existing = {"TableName": "rate-limits", "StreamArn": STREAM_ARN}
    plain = cloudformation.Form(template, **existing)
    archive = cloudformation.Form(template, **existing, EnableArchival="true", ArchiveBucketName=ARCHIVE_BUCKET)
    contents = {"trust.json": plain.only("AWS::IAM::Role")["AssumeRolePolicyDocument"]}
    for form, suffix in ((plain, ""), (archive, "-archive")):
        contents[f"policy{suffix}.json"] = form.only("AWS::IAM::Role")["Policies"][0]["PolicyDocument"]
        contents[f"mapping{suffix}.json"] = form.only("AWS::Lambda::EventSourceMapping")
    return {ROOT / "deploy" / name: _text(content) for name, content in contents.items()}


def _text(content):
    text = json.dumps(content, indent=2) + "\n"
    for said, placeholder in PLACEHOLDERS:
        text = text.replace(said, placeholder)
    return text


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text)
