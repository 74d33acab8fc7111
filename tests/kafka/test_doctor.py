"""``scurry doctor --kafka`` with a real broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import admin
from tests.kafka.conftest import Topics

from scurry.cli.checks import Verdict
from scurry.cli.kafka_check import check_kafka


def test_a_broker_that_answers_is_ok(topics: Topics) -> None:
    topics.create()
    finding = check_kafka(topics.servers)
    assert finding.verdict is Verdict.OK
    assert finding.found.startswith("1 broker, ")
    assert finding.remedy == ""


def test_an_announced_address_must_be_reachable(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced = SimpleNamespace(id=7, host="127.0.0.1", port=1)
    answer = SimpleNamespace(brokers={7: announced}, topics={})

    def client(settings: Any) -> Any:
        return SimpleNamespace(list_topics=lambda timeout: answer)

    monkeypatch.setattr(admin, "AdminClient", client)
    finding = check_kafka(topics.servers)
    assert finding.verdict is Verdict.FAIL
    assert finding.found.startswith("broker 7 announces itself as 127.0.0.1:1, which cannot")
    assert "advertised.listeners" in finding.remedy
