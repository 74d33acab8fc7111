"""Kafka -> keyed job -> Kafka, Postgres and files on Spark, through kills and pauses of the driver,
kills of workers and outages of both servers: every input is accounted for once in each output.

This is the short form of ``make soak-sinks``.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.faults.sinks_soak import (
    ENDING,
    PAUSING,
    SPARING,
    Account,
    outages_of,
    plan,
    sinks_round,
)

LIVES = [
    ("local[2,4]", ["worker kafka-prepared", "driver kafka-between-transactions"]),
    ("local[2]", ["worker", "pause promised"]),
]
OUTAGE_SECONDS = 5.0


@pytest.mark.timeout(600)
def test_nothing_is_lost_or_doubled_in_any_sink(
    kafka_installed: None, postgres_installed: None, tmp_path: Path
) -> None:
    with sinks_round(tmp_path / "job") as job:
        job.run(LIVES, random.Random(5), outages=outages_of(OUTAGE_SECONDS))
    tally = job.tally
    assert tally.line == "kills=4 lost=0 duplicated=0"
    assert tally.sinks == {name: Account(0, 0) for name in ("Kafka", "Postgres", "files")}
    assert tally.events > 1000
    for recovery in tally.outages.values():
        assert recovery.restarts == 0
    kafka, postgres = tally.outages["Kafka away for 5 s"], tally.outages["Postgres away for 5 s"]
    assert any(text.startswith("for Kafka at 127.0.0.1") for text in kafka.waits)
    assert any("to write a micro-batch to counted, since " in text for text in postgres.waits)


def test_every_kind_of_kill_has_its_turn() -> None:
    lives = plan(70, random.Random(1))
    kinds = [kind for _, kinds in lives for kind in kinds]
    last = {*ENDING, *PAUSING}
    assert len(kinds) == 70
    assert set(kinds) == {*last, *SPARING}
    assert all(kinds[-1] in last and not {*kinds[:-1]} & last for _, kinds in lives)
