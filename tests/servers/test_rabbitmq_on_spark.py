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


def test_kills_of_the_driver_lose_and_double_nothing(
    rabbitmq_server: RabbitMQServer, tmp_path: Path
) -> None:
    source, target = Queue(rabbitmq_server), Queue(rabbitmq_server)
    (tmp_path / "faults").mkdir()
    arguments = [str(tmp_path), rabbitmq_server.uri, source.name, target.name]
    total = 0
    for point in [*POINTS, None]:
        source.fill(*((str(n), f"id {n}") for n in range(total, total + EACH_LIFE)))
        total += EACH_LIFE
        driver = Driver(tmp_path, "tests.servers.rabbitmq_job", *arguments)
        try:
            assert driver.wait_until(lambda driver=driver: driver.batch >= 0)  # type: ignore[misc]
            if point is not None:
                (tmp_path / "faults" / point).write_text("SIGKILL")
                assert driver.wait_until(lambda driver=driver: not driver.alive)  # type: ignore[misc]
            else:
                wait_until(lambda total=total: len(results(tmp_path)) >= total, 60)  # type: ignore[misc]
                (tmp_path / "stop").touch()
                assert driver.wait_until(lambda driver=driver: driver.finished)  # type: ignore[misc]
        finally:
            driver.end()
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
