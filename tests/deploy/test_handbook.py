"""Every command of the handbook that needs an account, as far as it goes without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import handbook
from cloudformation import Form, Refused
from conftest import EXISTING, ROOT
from documents import documents
from stand_in import StandIn

TOOLS = Path(sys.executable).parent
ANSWERS = {
    "DescribeTable": {"Table": {"TableName": "rate-limits", "LatestStreamArn": EXISTING["StreamArn"]}},
    "GetCallerIdentity": {"Account": "123456789012"},
}


def follow(commands, offline, folder):
    """What AWS is asked for when somebody follows these commands, and what SAM would deploy with."""
    deployments = folder / "deployments"
    with StandIn(ANSWERS) as aws:
        environment = offline | {
            "AWS_ENDPOINT_URL": aws.url,
            "AWS_MAX_ATTEMPTS": "1",
            "PATH": f"{ROOT / 'tests/deploy/shims'}:{TOOLS}:{os.environ['PATH']}",
            "TOOLS": str(TOOLS),
            "DEPLOYMENTS": str(deployments),
        }
        script = "set -euo pipefail\n" + "\n".join(commands)
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        yield aws, [json.loads(line) for line in deployments.read_text().splitlines()]


@pytest.fixture(scope="module")
def followed(offline, built, tmp_path_factory):
    yield from follow(handbook.texts("account"), offline, tmp_path_factory.mktemp("handbook"))


@pytest.fixture(scope="module")
def readme_followed(offline, built, tmp_path_factory):
    yield from follow(handbook.texts("account", "Deploy it", handbook.README), offline, tmp_path_factory.mktemp("readme"))


@pytest.fixture(scope="module")
def taken_over(offline, built, tmp_path_factory):
    given = [f"STREAM_ARN={EXISTING['StreamArn']} T=1796083200000"]
    commands = given + handbook.texts("account", page=handbook.OPERATIONS)
    yield from follow(commands, offline, tmp_path_factory.mktemp("operations"))


def test_the_take_over_stops_the_other_mapping_and_starts_at_the_instant(taken_over, template):
    aws, deployments = taken_over
    (stopped,) = aws.arguments("PUT /2015-03-31/event-source-mappings/11111111-2222-3333-4444-555555555555")
    assert stopped == {"Enabled": False}
    (deployment,) = deployments
    form = Form(template, **deployment["parameter_overrides"])
    assert form.parameters["UsageNotBefore"] == "1796083200000" and form.parameters["TableName"] == "rate-limits"
    assert form.only("AWS::Lambda::EventSourceMapping")["StartingPosition"] == "TRIM_HORIZON"


def test_the_readmes_deployments_are_the_handbooks(followed, readme_followed, template):
    _, of_the_handbook = followed
    _, of_the_readme = readme_followed
    assert len(of_the_readme) == 2
    for deployment in of_the_readme:
        Form(template, **deployment["parameter_overrides"])
        assert deployment in of_the_handbook


def test_the_readme_builds_with_the_commands_that_were_run(built):
    run = [line for text in handbook.texts("") for line in text.splitlines()]
    wanted = [line for text in handbook.texts("", "Deploy it", handbook.README) for line in text.splitlines()]
    assert wanted and set(wanted) <= set(run)


def test_the_readme_installs_what_is_tested():
    (install,) = handbook.texts("install")
    assert f"`{install}`" in handbook.README.read_text()


def test_what_is_installed_is_what_is_tested():
    (install,) = handbook.texts("install")
    locked = (ROOT / "tests/deploy/requirements.txt").read_text()
    assert all(f"\n{package}==" in locked for package in install.split()[2:])


def test_every_deployment_of_the_handbook_is_one_that_cloudformation_takes(followed, template):
    _, deployments = followed
    tables = []
    for deployment in deployments:
        assert tuple(deployment["capabilities"]) == ("CAPABILITY_IAM",) and deployment["resolve_s3"]
        form = Form(template, **deployment["parameter_overrides"])
        tables.append(form.parameters["TableName"])
    assert tables == ["", "rate-limits", "rate-limits"]
    assert form.parameters["EnableArchival"] == "true", "the last one archives"


def test_the_prod_profile_cannot_make_a_table_by_oversight(template):
    import tomllib

    prod = tomllib.loads((ROOT / "samconfig.toml").read_text())["prod"]["deploy"]["parameters"]
    with pytest.raises(Refused, match="StreamArn"):
        Form(template, **dict(override.split("=", 1) for override in prod["parameter_overrides"]))


def test_without_the_template_the_same_mapping_role_and_logs_are_made(followed, form, existing_table):
    aws, _ = followed
    archive = form(**EXISTING, EnableArchival="true", ArchiveBucketName="rate-limits-audit")
    bucket = "arn:aws:s3:::limiter-aggregator-failures-123456789012-eu-central-1"
    mappings = aws.arguments("POST /2015-03-31/event-source-mappings")
    policies = aws.arguments("PutRolePolicy")
    # Without an archive first, then with one.
    for wanted, mapping, policy in zip((existing_table, archive), mappings, policies, strict=True):
        assert mapping == wanted.only("AWS::Lambda::EventSourceMapping") | {
            "Enabled": False,
            "FunctionName": "limiter-aggregator",
            "DestinationConfig": {"OnFailure": {"Destination": bucket}},
        }
        document = wanted.only("AWS::IAM::Role")["Policies"][0]["PolicyDocument"]
        assert json.loads(policy["PolicyDocument"]) == json.loads(json.dumps(document).replace("<FailureBucket.Arn>", bucket))
    (role,) = aws.arguments("CreateRole")
    assert json.loads(role["AssumeRolePolicyDocument"]) == existing_table.only("AWS::IAM::Role")["AssumeRolePolicyDocument"]
    (configured,) = aws.arguments("PUT /2015-03-31/functions/limiter-aggregator/configuration")
    logging = existing_table.only("AWS::Lambda::Function")["LoggingConfig"]
    assert configured["LoggingConfig"] == {key: value for key, value in logging.items() if key != "LogGroup"}


def test_the_function_gets_the_templates_size_and_time(template):
    deploys = [text for text in handbook.texts("account") if "cargo lambda deploy" in text]
    assert len(deploys) == 2, "without an archive and with one"
    parameters = template["Parameters"]
    for option, parameter in (("--memory", "MemorySize"), ("--timeout", "TimeoutSeconds"), ("--log-retention", "LogRetentionDays")):
        wanted = f"{option} {parameters[parameter]['Default']} "
        assert all(wanted in deploy.replace("\\\n", " ") for deploy in deploys)


def test_every_document_is_used():
    text = "\n".join(handbook.texts("account"))
    assert all(f"deploy/{path.name}" in text for path in documents())


def test_the_table_of_parameters_names_each_and_its_default(template):
    rows = [line for line in handbook.HANDBOOK.read_text().splitlines() if line.startswith("| `")]
    named = {}
    for row in rows:
        names, defaults = (cell.strip() for cell in row.strip("|").split("|")[:2])
        names = [name.strip("`") for name in names.split(", ")]
        defaults = [defaults] * len(names) if len(names) > 1 and ", " not in defaults else defaults.split(", ")
        named |= dict(zip(names, defaults, strict=True))
    shown = {name: default.strip("`").replace("empty", "") for name, default in named.items()}
    assert shown == {name: str(rules["Default"]) for name, rules in template["Parameters"].items()}
