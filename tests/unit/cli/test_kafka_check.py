"""``scurry doctor --kafka``: each cause of trouble has its own verdict."""

from __future__ import annotations

import builtins
import socket
import threading
from typing import Any

import pytest
from click.testing import CliRunner

import scurry.cli.doctor as doctor_module
import scurry.cli.kafka_check as kafka_check
from scurry.cli.checks import Verdict
from scurry.cli.kafka_check import check_kafka
from scurry.cli.main import main


@pytest.mark.parametrize("address", ["localhost", "localhost:", ":9092", "localhost:kafka"])
def test_an_address_has_host_and_port(address: str) -> None:
    finding = check_kafka(address)
    assert (finding.verdict, finding.found) == (Verdict.FAIL, "not an address")
    assert "localhost:9092" in finding.remedy


def test_nobody_listens() -> None:
    finding = check_kafka("127.0.0.1:1")
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "no connection: Connection refused"
    assert "Start the broker" in finding.remedy


def test_somebody_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_check, "_SECONDS", 1.0)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        stop = threading.Event()

        def hang_up() -> None:
            server.settimeout(0.1)
            while not stop.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue

        thread = threading.Thread(target=hang_up)
        thread.start()
        finding = check_kafka(f"127.0.0.1:{server.getsockname()[1]}")
        stop.set()
        thread.join()
    assert finding.verdict is Verdict.FAIL
    assert "does not answer as a Kafka broker" in finding.found
    assert "TLS or SASL" in finding.remedy


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("confluent_kafka"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'scurry[kafka]'" in check_kafka("127.0.0.1:1").remedy


def test_doctor_takes_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "examine", lambda machine: [])
    result = CliRunner().invoke(main, ["doctor", "--kafka", "127.0.0.1:1", "--kafka", "nowhere"])
    lines = result.output.splitlines()
    assert lines[0].startswith("fail  Kafka 127.0.0.1:1  no connection")
    assert any(line.startswith("fail  Kafka nowhere") for line in lines)
    assert result.exit_code == 1
