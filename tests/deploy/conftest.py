import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cloudformation
import handbook

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
EXISTING = {
    "TableName": "rate-limits",
    "StreamArn": "arn:aws:dynamodb:eu-central-1:123456789012:table/rate-limits/stream/2026-11-02T00:00:00.000",
}
ARCHIVE = {"EnableArchival": "true", "ArchiveBucketName": "audit"}


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def template():
    return cloudformation.load(ROOT / "template.yaml")


@pytest.fixture(scope="session")
def form(template):
    """The template for some parameters, made once each."""
    made = {}

    def make(**parameters):
        key = tuple(sorted(parameters.items()))
        if key not in made:
            made[key] = cloudformation.Form(template, **parameters)
        return made[key]

    return make


@pytest.fixture(scope="session")
def new_table(form):
    return form()


@pytest.fixture(scope="session")
def existing_table(form):
    return form(**EXISTING)


@pytest.fixture(scope="session")
def offline():
    """An environment in which no tool can reach an account: a region, and credentials that are none."""
    return os.environ | {
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_BETA_RUST_CARGO_LAMBDA": "1",
        "CARGO_TERM_COLOR": "never",
    }


@dataclass
class Built:
    """What a form's build commands have left: cargo-lambda's zip, and the folder that SAM would upload."""

    archive: Path
    folder: Path


@pytest.fixture(scope="session")
def built(offline, tmp_path_factory):
    """Both forms of the program, each made by every build command for it in the handbook."""
    environment = offline | {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    forms = {}
    # The form that is shipped comes last: it is what the other commands then find.
    for form, commands in (
        ("archive", handbook.texts("", "With an archive")),
        ("default", [*handbook.texts("", "With SAM"), *handbook.texts("", "With cargo-lambda")]),
    ):
        script = "set -euo pipefail\n" + "\n".join(commands)
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        kept = tmp_path_factory.mktemp(form)
        archive = shutil.copy(ROOT / "target/lambda/bootstrap/bootstrap.zip", kept)
        forms[form] = Built(Path(archive), Path(shutil.copytree(ROOT / ".aws-sam/build/Function", kept / "Function")))
    return forms
