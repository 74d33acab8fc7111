"""RabbitMQ -> keyed job -> files and RabbitMQ on Spark, with the driver killed at bad moments."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.faults.process import Driver
from tests.servers.rabbitmq_job import KEYS
from tests.servers.test_rabbitmq import Queue

from scurry.testing.servers import RabbitMQServer, wait_until

#: messages are in a plan that is on disk; results are out, and nobody knows it yet
POINTS = ["planned", "after-sinks"]
EACH_LIFE = 200


def results(root: Path) -> list[str]:
    parts = [path for path in (root / "files").rglob("part-*") if path.is_file()]
    return [line for part in parts for line in part.read_text().splitlines()]


def live(root: Path, arguments: list[str], point: str | None, total: int) -> None:
    """Run the job until it is killed at ``point``, or else until there are ``total`` results."""
    driver = Driver(root, "tests.servers.rabbitmq_job", *arguments)
    try:
        assert driver.wait_until(lambda: driver.batch >= 0)
        if point is not None:
            (root / "faults" / point).write_text("SIGKILL")
            assert driver.wait_until(lambda: not driver.alive)
        else:
            wait_until(lambda: len(results(root)) >= total, 60)
            (root / "stop").touch()
            assert driver.wait_until(lambda: driver.finished)
    finally:
        driver.end()


def test_kills_of_the_driver_lose_and_double_nothing(
    rabbitmq_server: RabbitMQServer, tmp_path: Path
) -> None:
    source, target = Queue(rabbitmq_server), Queue(rabbitmq_server)
    (tmp_path / "faults").mkdir()
    arguments = [str(tmp_path), rabbitmq_server.uri, source.name, target.name]
    for life, point in enumerate([*POINTS, None]):
        first = life * EACH_LIFE
        source.fill(*((str(n), f"id {n}") for n in range(first, first + EACH_LIFE)))
        live(tmp_path, arguments, point, first + EACH_LIFE)
    total = EACH_LIFE * (len(POINTS) + 1)
    everything = [str(n) for n in range(total)]
    found = [line.split() for line in results(tmp_path)]
    assert sorted(number for number, _ in found) == sorted(everything)
    counts = Counter((int(number) % KEYS, count) for number, count in found)
    assert max(counts.values()) == 1
    assert source.ready() == 0
    # the sink is at least once, and a repeated batch gives the same results
    assert set(target.drained()) == {" ".join(line) for line in found}
    source.delete()
    target.delete()
