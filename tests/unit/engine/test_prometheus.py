"""The Prometheus endpoint: what a scrape finds, and whom the endpoint refuses."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from scurry.common import Configuration, JobMetrics, OperatorMetrics, SlotMetrics, TaskMetrics
from scurry.common.errors import ConfigurationError
from scurry.common.job_metrics import definitions
from scurry.common.waiting import Wait
from scurry.engine.prometheus import CONTENT_TYPE, PrometheusEndpoint, as_text, endpoint_of
from scurry.metrics import DistributionStatistics, MeterStatistics

SLOTS = (
    SlotMetrics(slot=0, num_records_in=3, current_output_watermark=1_760_000_000_000),
    SlotMetrics(slot=1, num_records_in=5),
)
METRICS = JobMetrics(
    job_id="4711",
    name='the "best"\njob\\',
    num_restarts=2,
    checkpoint_parts={"state": 1.5, "sinks": 2.0, "epoch": 0.5},
    phases={"execute": 12.0},
    waiting=(Wait("Kafka", "read", "refused", 0.0),),
    tasks=(TaskMetrics(stage=1, slot=0, busy_time_ms_per_second=250.0),),
    operators=(
        OperatorMetrics(
            uid="sums",
            name="Sums",
            stage=1,
            kind="operator",
            pending_records=17,
            slots=SLOTS,
            user={
                "hits": 4,
                "pace.of-it": MeterStatistics(6, 1.5),
                "sizes": DistributionStatistics(10.0, 4, 1.0, 5.0),
            },
        ),
    ),
)


def parsed(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_every_metric_is_there_with_type_help_and_labels() -> None:
    families = parsed(as_text(METRICS))
    job = {"job_id": "4711", "job_name": 'the "best"\njob\\'}
    operator = {**job, "operator_id": "sums", "operator_name": "Sums"}
    counted = families["scurry_operator_numRecordsIn"]
    assert counted.type == "counter"
    assert counted.documentation == "Records received; of a source, records read."
    assert [(s.labels, s.value) for s in counted.samples] == [
        ({**operator, "subtask_index": "0"}, 3),
        ({**operator, "subtask_index": "1"}, 5),
    ]
    (restarts,) = families["scurry_job_numRestarts"].samples
    assert (restarts.labels, restarts.value) == (job, 2)
    for each in definitions(SlotMetrics):
        if each.field not in ("current_input_watermark", "watermark_lag"):
            assert families[f"scurry_operator_{each.name}"].type == each.kind
    for each in definitions(JobMetrics):
        assert families[f"scurry_job_{each.name}"].type == each.kind


def values_of(families: dict[str, Metric], name: str) -> list[float]:
    return [sample.value for sample in families[name].samples]


def test_what_has_no_value_is_left_out() -> None:
    families = parsed(as_text(METRICS))
    assert values_of(families, "scurry_operator_currentOutputWatermark") == [1_760_000_000_000]
    assert "scurry_operator_pendingFiles" not in families
    assert values_of(families, "scurry_operator_pendingRecords") == [17]


def test_tasks_parts_of_checkpoints_and_waits() -> None:
    families = parsed(as_text(METRICS))
    assert values_of(families, "scurry_task_busyTimeMsPerSecond") == [250.0]
    parts = families["scurry_job_lastCheckpointPart"].samples
    assert {s.labels["part"]: s.value for s in parts} == METRICS.checkpoint_parts
    (phase,) = families["scurry_job_lastMicroBatchPhase"].samples
    assert (phase.labels["phase"], phase.value) == ("execute", 12.0)
    assert values_of(families, "scurry_job_waitingForServers") == [1]


def test_metrics_of_functions() -> None:
    families = parsed(as_text(METRICS))
    assert values_of(families, "scurry_operator_user_hits") == [4]
    assert values_of(families, "scurry_operator_user_pace_of_it_count") == [6]
    assert values_of(families, "scurry_operator_user_pace_of_it_rate") == [1.5]
    assert values_of(families, "scurry_operator_user_sizes_max") == [5.0]


Open = Callable[..., PrometheusEndpoint]


@pytest.fixture
def listening() -> Iterator[Open]:
    opened: list[PrometheusEndpoint] = []

    def listen(**settings: str) -> PrometheusEndpoint:
        keys = {f"metrics.reporter.prom.{name}": value for name, value in settings.items()}
        endpoint = endpoint_of(Configuration.of(keys), lambda: METRICS)
        assert endpoint is not None
        opened.append(endpoint)
        return endpoint

    yield listen
    for endpoint in opened:
        endpoint.close()


def get(address: str, **headers: str) -> tuple[int, str, Any]:
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode(), refusal.headers


def test_there_is_no_endpoint_unless_a_port_is_set() -> None:
    assert endpoint_of(Configuration(), lambda: METRICS) is None


def test_a_scrape_over_http(listening: Open) -> None:
    endpoint = listening(port="0")
    assert endpoint.address.startswith("http://127.0.0.1:")
    code, text, headers = get(endpoint.address)
    assert code == 200
    assert headers["Content-Type"] == CONTENT_TYPE
    assert text == as_text(METRICS)
    assert get(endpoint.address.replace("/metrics", "/secret"))[0] == 404


def test_a_token_is_asked_for(listening: Open) -> None:
    address = listening(port="0", token="s3cret").address
    code, text, headers = get(address)
    assert (code, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "scurry_" not in text
    assert get(address, Authorization="Bearer wrong")[0] == 401
    assert get(address, Authorization="Bearer s3cret")[0] == 200


def test_an_address_that_others_can_reach_needs_a_token(listening: Open) -> None:
    with pytest.raises(ConfigurationError, match=r"is '0\.0\.0\.0', which other machines can") as e:
        listening(port="0", host="0.0.0.0")
    assert "Set metrics.reporter.prom.token to a secret" in str(e.value)
    assert listening(port="0", host="0.0.0.0", token="t").address.startswith("http://0.0.0.0:")
    assert listening(port="0", host="localhost").address.startswith("http://127.0.0.1:")


def test_of_a_range_the_first_free_port_is_taken(listening: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen at 127.0.0.1, port {port}: "):
            listening(port=str(port))
        found = listening(port=f"{port}-{port + 50}").address
        assert int(found.split(":")[2].split("/")[0]) > port


@pytest.mark.parametrize("port", ["http", "9-", "5-4", "70000", "-1"])
def test_what_is_no_port_is_refused(listening: Open, port: str) -> None:
    with pytest.raises(ConfigurationError, match="it must be a port such as 9249, or a range"):
        listening(port=port)
