"""A contender is run, checked and measured; a wrong or missing result is said so."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import _data, _harness
from benchmarks._harness import Contender, ContenderFailed
from benchmarks._memory import JVM, MAIN, WORKERS, role

RIGHT = {"events": 10, "output_rows": 10, "checksum": 30}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_harness, "OUT", tmp_path / "out")
    monkeypatch.setattr(_data, "FILE_ROWS", 1000)
    return _data.parquet(tmp_path / "data", 3000, 10)


def test_a_contender_runs_in_a_process_of_its_own(data: Path) -> None:
    result = _harness.run(
        Contender("loop", "python_loop", note="fast"), data, 3000, _data.checksum(3000, 10)
    )
    assert (result.contender, result.events, result.output_rows) == ("loop", 3000, 3000)
    assert result.events_per_s > 0
    assert result.peak_rss_mb > 0
    assert result.jvm_rss_mb == result.worker_rss_mb == 0
    assert 0 < result.first_result_s <= result.wall_s
    assert result.note == "fast"


def test_a_wrong_sum_of_counts_is_a_failure(data: Path) -> None:
    with pytest.raises(ContenderFailed, match=r"It reports checksum = \d+, expected 1\."):
        _harness.run(Contender("loop", "python_loop"), data, 3000, 1)


def test_a_crash_shows_the_end_of_the_log(data: Path) -> None:
    contender = Contender("loop", "python_loop", ("--no-such-option",))
    with pytest.raises(ContenderFailed, match=r"(?s)The process ended with 2\..*no-such-option"):
        _harness.run(contender, data, 3000, 1)


def test_a_contender_that_takes_too_long_is_ended(data: Path) -> None:
    contender = Contender("loop", "python_loop", timeout_s=0)
    with pytest.raises(ContenderFailed, match="ran out of its 0 s"):
        _harness.run(contender, data, 3000, 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"output_rows": 9}, "It reports output_rows = 9, expected 10."),
        ({"events": 11}, "It reports events = 11, expected 10."),
        ({"checksum": 29}, "It reports checksum = 29, expected 30."),
    ],
)
def test_results_that_do_not_add_up_are_refused(changed: dict[str, int], message: str) -> None:
    with pytest.raises(ContenderFailed) as failure:
        _harness.check({**RIGHT, **changed}, 10, 30)
    assert str(failure.value) == message


def test_a_contender_that_does_not_count_has_no_checksum() -> None:
    _harness.check({**RIGHT, "checksum": None}, 10, 30)


def test_a_contender_without_its_interpreter_says_what_is_missing() -> None:
    contender = Contender("other", "other", interpreter_variable="OTHER_PYTHON")
    assert contender.interpreter({}) is None
    assert contender.interpreter({"OTHER_PYTHON": "/usr/bin/other"}) == "/usr/bin/other"
    assert contender.why_skipped() == ("skipped, because OTHER_PYTHON does not name an interpreter")


def test_slow_contenders_get_fewer_events() -> None:
    assert Contender("slow", "slow", most_events=5).events(10) == 5
    assert Contender("slow", "slow", most_events=5).events(3) == 3
    assert Contender("fast", "fast").events(10) == 10


def test_what_is_not_a_message_is_no_message() -> None:
    assert _harness.parse('{"progress": 5}') == {"progress": 5}
    assert _harness.parse("WARN something") == _harness.parse("5") == {}


def test_processes_are_told_apart_by_role() -> None:
    assert role("java", False) == JVM
    assert role("python3.11", True) == MAIN
    assert role("python", False) == WORKERS
    assert role("Executor task l", False) is None
