"""The linters' word on the template. What they find is mended, or justified beside it in the template."""

import json
import subprocess
import sys
from pathlib import Path

TOOLS = Path(sys.executable).parent


def run(root, environment, tool, *arguments):
    return subprocess.run([TOOLS / tool, *arguments], cwd=root, env=environment, capture_output=True, text=True)


def test_sam_takes_the_template(root, offline):
    done = run(root, offline, "sam", "validate", "--lint")
    assert done.returncode == 0 and "is a valid SAM Template" in done.stdout, done.stdout + done.stderr


def test_cfn_lint_finds_nothing(root, offline):
    done = run(root, offline, "cfn-lint", "--format", "json", "template.yaml")
    assert done.returncode == 0 and json.loads(done.stdout or "[]") == [], done.stdout + done.stderr


def test_checkov_finds_nothing_that_is_not_justified(root, offline):
    done = run(root, offline, "checkov", "-f", "template.yaml", "--framework", "cloudformation", "--skip-download", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)["results"]
    assert not report["failed_checks"] and not report["parsing_errors"]
    assert len(report["passed_checks"]) >= 15
    for skipped in report["skipped_checks"]:
        assert len(skipped["check_result"]["suppress_comment"]) > 40, skipped["check_id"]
