"""Results are kept, compared with Scurry's, and written into the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import _results, report
from benchmarks._results import ROOT, Result
from benchmarks.contenders import _protocol
from benchmarks.contenders._protocol import Measurement

ORDER = ["scurry", "other"]


@pytest.fixture(autouse=True)
def _out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_results, "OUT", tmp_path)


def result(contender: str, rate: float, **more: Any) -> Result:
    figures = {"peak_rss_mb": 300, "jvm_rss_mb": 200, "worker_rss_mb": 50}
    return Result(
        contender, 1000, 1000, rate, first_result_s=1.5, wall_s=3.0, **{**figures, **more}
    )


def test_ratios_are_relative_to_scurry(tmp_path: Path) -> None:
    _results.save("b", [result("other", 20.0), result("scurry", 50.0)], ORDER, partial=False)
    written = json.loads((tmp_path / "b.json").read_text())
    assert [(entry["contender"], entry["ratio"]) for entry in written] == [
        ("scurry", 1.0),
        ("other", 2.5),
    ]
    assert {"contender", "events_per_s", "peak_rss_mb", "first_result_s"} <= written[0].keys()


def test_a_partial_run_replaces_only_its_own_results() -> None:
    _results.save("b", [result("scurry", 50.0), result("other", 20.0)], ORDER, partial=False)
    known = _results.save("b", [result("other", 10.0)], ORDER, partial=True)
    assert [(one.contender, one.events_per_s, one.ratio) for one in known] == [
        ("scurry", 50.0, 1.0),
        ("other", 10.0, 5.0),
    ]


def test_a_partial_run_with_other_keys_starts_anew() -> None:
    _results.save("b", [result("scurry", 50.0, keys=1)], ORDER, partial=False)
    known = _results.save("b", [result("other", 10.0, keys=2)], ORDER, partial=True)
    assert [(one.contender, one.ratio) for one in known] == [("other", None)]


def test_a_partial_run_keeps_what_the_same_command_measured_with_other_keys() -> None:
    few = result("other", 50.0, keys=1, command="python -m b")
    _results.save("b", [few], ORDER, partial=False)
    many = result("scurry", 25.0, keys=9, command="python -m b")
    known = _results.save("b", [many], ORDER, partial=True)
    assert [(one.contender, one.ratio) for one in known] == [("scurry", 1.0), ("other", 0.5)]


def test_a_table_in_a_page_is_replaced_and_the_rest_is_left() -> None:
    page = (
        "before\n<!-- results: one -->\nold\n<!-- end of results -->\nbetween\n"
        "<!-- results: two -->\nold\n<!-- end of results -->\nafter\n"
    )
    measured = result(
        "scurry", 500_000.0, note="durable", command="run it", machine="2 cores", ratio=1.0
    )
    filled = report.fill(page, {"one": [measured], "two": []})
    first, rest = filled.split("between")
    assert "old" not in first
    assert "`run it`, 2 cores" in first
    assert "| scurry | 1,000 | 500,000 | 1.00x | 200 | 50 | 300 | 1.5 s |" in first
    assert "- `scurry`: durable" in first
    assert rest == page.split("between")[1]
    assert report.fill(filled, {"one": [measured]}) == filled


def test_the_page_has_a_table_for_every_benchmark() -> None:
    modules = {file.stem for file in (ROOT / "benchmarks").glob("[!_]*.py")} - {"report"}
    modules |= {file.parent.name for file in (ROOT / "benchmarks").glob("*/__main__.py")}
    tables = set(report.names(report.PAGE.read_text()))
    assert modules <= tables
    assert {table for table in tables if not table.startswith(tuple(modules))} == set()


def test_the_steady_rate_leaves_out_the_first_batch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(_protocol.STARTED_VARIABLE, "100.0")
    measurement = Measurement()
    for events, at in ((10, 107.0), (20, 108.0), (30, 109.0)):
        measurement.mark(events, at)
    measurement.finish(events=30, output_rows=30, checksum=60)
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert said[:3] == [{"progress": 10}, {"progress": 20}, {"progress": 30}]
    outcome = said[3]["result"]
    assert (outcome["steady_events"], outcome["steady_s"]) == (20, 2.0)
    assert outcome["first_result_s"] == 7.0
    assert outcome["note"] == ""


def test_a_single_batch_is_owned_up_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(_protocol.STARTED_VARIABLE, "100.0")
    measurement = Measurement()
    measurement.mark(10, 105.0)
    measurement.finish(events=10, output_rows=10, note="found")
    outcome = json.loads(capsys.readouterr().out.splitlines()[-1])["result"]
    assert (outcome["steady_events"], outcome["steady_s"]) == (10, 5.0)
    assert outcome["note"] == "found; a single batch: the rate includes start-up"
