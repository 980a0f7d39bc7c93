"""Both forms of the stack, as SAM's translator and CloudFormation would make them."""

import json

import pytest

from cloudformation import Refused
from conftest import ARCHIVE, EXISTING

KEY = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:on-call"
BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
TABLE_ARN = EXISTING["StreamArn"].split("/stream/")[0]


def statements(form):
    return {s["Sid"]: s for s in form.only("AWS::IAM::Role")["Policies"][0]["PolicyDocument"]["Statement"]}


def environment(form):
    return form.only("AWS::Lambda::Function")["Environment"]["Variables"]


def test_a_new_table_is_the_one_that_clients_write(new_table):
    table = new_table.only("AWS::DynamoDB::Table")

    def index(name, partition, sort, projection):
        keys = [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
        return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": projection}}

    assert table["KeySchema"] == index("", "PK", "SK", "")["KeySchema"]
    assert table["GlobalSecondaryIndexes"] == [
        index(f"GSI{n}", f"GSI{n}PK", f"GSI{n}SK", "ALL" if n <= 2 else "KEYS_ONLY") for n in range(1, 5)
    ]
    assert table["LocalSecondaryIndexes"] == [
        index(f"LSI{n}", "PK", f"LSI{n}SK", "ALL" if n % 2 else "KEYS_ONLY") for n in range(1, 6)
    ]
    used = {k["AttributeName"] for i in [table, *table["GlobalSecondaryIndexes"], *table["LocalSecondaryIndexes"]] for k in i["KeySchema"]}
    assert {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]} == dict.fromkeys(used, "S")
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def test_a_new_table_outlives_accidents(new_table):
    (table,) = new_table.of_type("AWS::DynamoDB::Table").values()
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert table["Properties"]["DeletionProtectionEnabled"] is True
    assert table["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_beside_an_existing_table_nothing_of_the_table_is_made(existing_table, new_table):
    assert not existing_table.of_type("AWS::DynamoDB::Table")
    assert set(new_table.resources) - set(existing_table.resources) == {"Table"}
    assert environment(existing_table)["TABLE_NAME"] == "rate-limits"
    assert environment(new_table)["TABLE_NAME"] == "<Table>"


@pytest.mark.parametrize("parameters", [{}, EXISTING])
def test_the_function_is_what_the_runtime_expects(form, parameters):
    function = form(**parameters).only("AWS::Lambda::Function")
    assert (function["Runtime"], function["Handler"], function["Architectures"]) == ("provided.al2023", "bootstrap", ["x86_64"])
    assert function["LoggingConfig"] == {
        "LogGroup": "<LogGroup>", "LogFormat": "JSON", "ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO",
    }
    assert form(**parameters).only("AWS::Logs::LogGroup")["RetentionInDays"] == 30
    for absent in ("VpcConfig", "KmsKeyArn", "ReservedConcurrentExecutions"):
        assert absent not in function


@pytest.mark.parametrize(("parameters", "stream"), [({}, "<Table.StreamArn>"), (EXISTING, EXISTING["StreamArn"])])
def test_the_stream_is_read_completely_and_retried_until_it_expires(form, parameters, stream):
    mapping = dict(form(**parameters).only("AWS::Lambda::EventSourceMapping"))
    assert len(mapping.pop("FilterCriteria")["Filters"]) == 1
    assert mapping == {
        "FunctionName": "<Function>",
        "EventSourceArn": stream,
        "Enabled": True,
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "MaximumBatchingWindowInSeconds": 5,
        "ParallelizationFactor": 1,
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": -1,
        "MaximumRecordAgeInSeconds": -1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "DestinationConfig": {"OnFailure": {"Destination": "<FailureBucket.Arn>"}},
        "MetricsConfig": {"Metrics": ["EventCount"]},
    }


def test_every_setting_of_the_program_can_be_set(form):
    given = form(
        **EXISTING, DryRun="true", EnableUsage="false", EnableRefill="false", EnablePropagation="false",
        SnapshotWindows="daily,monthly", SnapshotTtlDays=400, UsageNotBefore="1796089557000", MaxInFlight=4,
        MetricsNamespace="Team/Limits", LogHashKey="secret",
    )
    assert environment(given) == {
        "TABLE_NAME": "rate-limits", "DRY_RUN": "true", "ENABLE_USAGE": "false", "ENABLE_REFILL": "false",
        "ENABLE_PROPAGATION": "false", "SNAPSHOT_WINDOWS": "daily,monthly", "SNAPSHOT_TTL_DAYS": 400,
        "USAGE_NOT_BEFORE": "1796089557000", "ENABLE_ARCHIVAL": "false", "MAX_IN_FLIGHT": 4,
        "METRICS_NAMESPACE": "Team/Limits", "LOG_HASH_KEY": "secret",
    }


def test_an_archive_is_a_bucket_a_filter_and_a_permission_on_its_prefix(form, existing_table):
    archive = form(**EXISTING, **ARCHIVE)
    settings = environment(archive)
    assert (settings["ENABLE_ARCHIVAL"], settings["ARCHIVE_BUCKET_NAME"]) == ("true", "audit")
    assert statements(archive)["Archive"] == {
        "Sid": "Archive", "Effect": "Allow", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::audit/audit/*",
    }

    def filters(of):
        return of.only("AWS::Lambda::EventSourceMapping")["FilterCriteria"]["Filters"]

    assert filters(archive)[:-1] == filters(existing_table)
    assert "#AUDIT#" in filters(archive)[-1]["Pattern"]


def test_what_is_not_set_is_left_to_the_program(existing_table):
    assert not {"USAGE_NOT_BEFORE", "LOG_HASH_KEY", "ARCHIVE_BUCKET_NAME"} & set(environment(existing_table))


def test_a_secret_is_not_shown_by_the_console(template):
    assert template["Parameters"]["LogHashKey"]["NoEcho"] is True


@pytest.mark.parametrize(
    "parameters",
    [
        {"TableName": "rate-limits"},
        {"StreamArn": EXISTING["StreamArn"]},
        {**EXISTING, "StreamArn": "CHANGE-ME"},
        {**EXISTING, "TableName": TABLE_ARN},
        {**EXISTING, "TableKmsKeyArn": "alias/mine"},
        {"EnableArchival": "true"},
        {"EnableArchival": "true", "ArchiveBucketName": "s3://audit"},
        {"EnableArchival": "true", "ArchiveBucketName": "audit/records"},
        {"SnapshotWindows": "weekly"},
        {"SnapshotWindows": "hourly,"},
        {"SnapshotWindows": "daily,daily"},
        {"UsageNotBefore": "2026-11-30"},
        {"UsageNotBefore": "1796083200"},
        {"MetricsNamespace": "AWS/Mine"},
        {"LogLevel": "WARN"},
        {"OnFailure": "topic"},
        {"Architecture": "x86-64"},
        {"MaxInFlight": 0},
    ],
)
def test_parameters_that_cannot_work_are_refused_before_anything_is_made(form, parameters):
    with pytest.raises(Refused):
        form(**parameters)


def test_a_stream_can_be_left_alone_until_another_aggregator_has_stopped(form):
    mapping = form(**EXISTING, StreamEnabled="false").only("AWS::Lambda::EventSourceMapping")
    assert mapping["Enabled"] is False


@pytest.mark.parametrize(("parameters", "arn"), [({}, "<Table.Arn>"), (EXISTING, TABLE_ARN)])
def test_items_can_be_touched_on_this_table_only(form, parameters, arn):
    by_name = statements(form(**parameters))
    assert {by_name[sid]["Resource"] for sid in by_name if sid.startswith("Items")} == {arn}


def test_optional_means_are_allowed_only_when_they_are_chosen(form, existing_table):
    least = {"ItemsOfBuckets", "ItemsOfBucketsAndEntities", "Stream", "StreamList", "Logs", "OnFailureObjects", "OnFailureBucket"}
    assert set(statements(existing_table)) == least
    assert set(statements(form(**EXISTING, **ARCHIVE))) - least == {"Archive"}
    # A bucket's name alone archives nothing.
    assert set(statements(form(**EXISTING, ArchiveBucketName="audit"))) == least
    assert set(statements(form(**EXISTING, TableKmsKeyArn=KEY))) - least == {"TableKey"}
    assert set(statements(form(**EXISTING, DataKmsKeyArn=KEY))) - least == {"DataKey"}
    assert set(statements(form(**EXISTING, SubnetIds="subnet-1,subnet-2", SecurityGroupIds="sg-1"))) - least == {"Network"}
    assert set(statements(form(**EXISTING, OnFailure="queue"))) ^ least == {"OnFailureObjects", "OnFailureBucket", "OnFailureQueue"}


def test_star_stands_only_where_there_is_no_resource_to_name(form):
    everything = form(TableKmsKeyArn=KEY, DataKmsKeyArn=KEY, SubnetIds="subnet-1", SecurityGroupIds="sg-1", **ARCHIVE)
    assert {sid for sid, s in statements(everything).items() if s["Resource"] == "*"} == {"StreamList", "Network"}
    for statement in statements(everything).values():
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert not any("*" in action for action in actions)


def test_the_role_is_bounded_and_nothing_is_added_to_it(form):
    role = form(PermissionsBoundaryArn=BOUNDARY).only("AWS::IAM::Role")
    assert role["PermissionsBoundary"] == BOUNDARY
    assert "ManagedPolicyArns" not in role and len(role["Policies"]) == 1
    assert "PermissionsBoundary" not in form().only("AWS::IAM::Role")


def test_a_vpc_and_keys_reach_what_they_are_for(form):
    chosen = form(SubnetIds="subnet-1,subnet-2", SecurityGroupIds="sg-1", DataKmsKeyArn=KEY, TableKmsKeyArn=KEY)
    function = chosen.only("AWS::Lambda::Function")
    assert function["VpcConfig"] == {"SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}
    assert function["KmsKeyArn"] == KEY
    assert chosen.only("AWS::Logs::LogGroup")["KmsKeyId"] == KEY
    assert chosen.only("AWS::DynamoDB::Table")["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert statements(chosen)["TableKey"]["Condition"] == {"StringEquals": {"kms:ViaService": "dynamodb.eu-central-1.amazonaws.com"}}


def test_discarded_batches_go_to_a_queue_if_wanted(form):
    queue = form(**EXISTING, OnFailure="queue")
    assert not queue.of_type("AWS::S3::Bucket") and not queue.of_type("AWS::S3::BucketPolicy")
    mapping = queue.only("AWS::Lambda::EventSourceMapping")
    assert mapping["DestinationConfig"] == {"OnFailure": {"Destination": "<FailureQueue.Arn>"}}
    assert queue.only("AWS::SQS::Queue")["SqsManagedSseEnabled"] is True
    assert queue.outputs["OnFailureDestination"] == "<FailureQueue>"


def test_the_bucket_for_discarded_batches_is_closed_and_outlives_the_stack(existing_table):
    (bucket,) = existing_table.of_type("AWS::S3::Bucket").values()
    assert bucket["DeletionPolicy"] == "Retain"
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}


def test_arm_can_be_chosen(form):
    assert form(Architecture="arm64").only("AWS::Lambda::Function")["Architectures"] == ["arm64"]


def test_alarms_tell_the_topic_when_they_begin_and_when_they_end(form, existing_table):
    for told, actions in ((form(**EXISTING, AlarmTopicArn=TOPIC), [TOPIC]), (existing_table, None)):
        alarms = told.of_type("AWS::CloudWatch::Alarm").values()
        assert len(alarms) >= 12
        for alarm in alarms:
            assert (alarm["Properties"].get("AlarmActions"), alarm["Properties"].get("OKActions")) == (actions, actions)
            assert alarm["Properties"]["TreatMissingData"] == "notBreaching"


def test_lateness_is_told_of_after_half_an_hour_and_long_before_records_expire(existing_table):
    ages = [a["Properties"] for a in existing_table.of_type("AWS::CloudWatch::Alarm").values()
            if a["Properties"].get("MetricName") == "IteratorAge"]
    hours = sorted(age["Threshold"] / 3_600_000 for age in ages)
    assert hours == [0.5, 8]


def test_duration_is_measured_against_the_timeout(form):
    metrics = form(**EXISTING, TimeoutSeconds=120).resources["DurationAlarm"]["Properties"]["Metrics"]
    assert [m["Expression"] for m in metrics if "Expression" in m] == ["duration / 120 / 10"]


@pytest.mark.parametrize("parameters", [{}, EXISTING])
def test_the_dashboard_is_one_and_shows_every_metric_that_has_an_alarm(form, parameters):
    made = form(**parameters)
    board = json.loads(made.only("AWS::CloudWatch::Dashboard")["DashboardBody"])
    shown = {tuple(metric[:2]) for widget in board["widgets"] for metric in widget["properties"]["metrics"]}
    watched = set()
    for alarm in made.of_type("AWS::CloudWatch::Alarm").values():
        for source in alarm["Properties"].get("Metrics", [alarm["Properties"]]):
            metric = source.get("MetricStat", {}).get("Metric", source)
            if "MetricName" in metric:
                watched.add((metric["Namespace"], metric["MetricName"]))
    assert watched - shown <= {("AWS/S3", "NumberOfObjects"), ("AWS/SQS", "ApproximateNumberOfMessagesVisible")}
