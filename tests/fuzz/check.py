"""Running a random program and comparing what it wrote with the model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz.build import build
from tests.fuzz.functions import LATE
from tests.fuzz.generate import Case
from tests.fuzz.records import Fields, fields
from tests.fuzz.steps import Run
from tests.fuzz.streams import Stream

from scurry.common import Configuration, Row
from scurry.common.errors import LeaseLostError, StateError
from scurry.common.options.execution import LIVE
from scurry.compile.job import CompiledJob
from scurry.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from scurry.testing import ListSink, LocalJob
from scurry.testing.local_rounds import LocalRounds
from scurry.testing.relations import table_of

_PLENTY = 1 << 40


def environment(run: Run, batch: bool) -> StreamExecutionEnvironment:
    """An environment with the settings of a run."""
    configuration = Configuration.of(dict(run.settings))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env.set_parallelism(run.parallelism)


def check(case: Case, run: Run) -> None:
    """Run a program; AssertionError if a sink has got anything but what the model says."""
    env = environment(run, case.program.batch)
    with TemporaryDirectory(prefix="scurry-fuzz-") as folder:
        sinks = build(case.program, case.shapes, env, Path(folder))
        drive(env, run)
    compare(case, sinks)


def check_on_spark(cases: Sequence[Case], run: Run) -> None:
    """The same for several programs as one job on Spark, without the troubles; in the live engine
    if ``run`` has rounds."""
    env = environment(run, any(case.program.batch for case in cases))
    if run.rounds:
        env.get_configuration().set_string("execution.engine", LIVE)
    if run.cuts:
        env.get_configuration().set_integer("scurry.batch.max-records", run.cuts[0])
    with TemporaryDirectory(prefix="scurry-fuzz-") as folder:
        programs = [(case, build(case.program, case.shapes, env, Path(folder))) for case in cases]
        env.execute()
    for case, sinks in programs:
        compare(case, sinks)


def drive(env: StreamExecutionEnvironment, run: Run) -> None:
    """Run the environment's program to its end, with the troubles that ``run`` names."""
    compiled = env._compile(None)
    with ExitStack() as drivers:
        job = drivers.enter_context(_job(compiled, run))
        for size in _sizes(run):
            if job.done:
                break
            number = job.batch + 1
            job.clock += run.tick
            if number in run.restart:
                job.restart(lose_local_state=number % 2 == 0)
            if number in run.takeover:
                job = drivers.enter_context(_taken_over(job, compiled, size, run))
            if number in run.rescale:
                other = env.set_parallelism(run.rescale[number])._compile(None)
                # refused where an operator with state would run in another stage than before
                with suppress(StateError, ValueError):
                    if number in run.crash:
                        job.crash_and_rescale_step(other, size)
                        compiled = other
                        continue
                    job.rescale(other)
                    compiled = other
            if not (job.crash_step if number in run.crash else job.step)(size):
                break
        assert job.done
    env.close()


def _job(compiled: CompiledJob, run: Run, after: LocalJob | None = None) -> LocalJob:
    clock = 0 if after is None else after.clock
    if run.rounds:
        return LocalRounds(compiled, clock, after, run.rounds, copies=run.copies)
    return LocalJob(compiled, clock, after)


def _taken_over(sleeper: LocalJob, compiled: CompiledJob, size: int, run: Run) -> LocalJob:
    """Another driver takes over from one that has planned a micro-batch; that one wakes up."""
    sleeper.plan_step(size)
    job = _job(compiled, run, sleeper)
    try:
        sleeper.step(size)
    except LeaseLostError:
        return job
    raise AssertionError("a driver without the lease went on")


def _sizes(run: Run) -> Iterator[int]:
    if run.cuts is None:
        return repeat(_PLENTY)
    return chain(run.cuts, repeat(run.cuts[-1]))


def compare(case: Case, sinks: Iterable[ListSink]) -> None:
    """What the sinks have against what the model says they should."""
    for number, sink in zip(case.program.sinks, sinks, strict=True):
        stream = case.streams[number]
        if stream.verdict == "table":
            _check_table(stream, sink.values)
            continue
        found = [fields(value) for value in sink.values]
        if stream.order == "open":
            _VERDICTS[stream.verdict](stream, found)
            continue
        expected = [element.record for element in stream.elements]
        assert _seen(stream, found) == _seen(stream, expected), f"sink(s{number})"


def _seen(stream: Stream, records: list[Fields]) -> Any:
    """What of the records is certain."""
    if not (stream.ordered and stream.together):
        return Counter(records)
    by_key: dict[int, list[Fields]] = defaultdict(list)
    for record in records:
        by_key[record[0]].append(record)
    return dict(by_key)


def _check_totals(stream: Stream, found: list[Fields]) -> None:
    """Values are never negative, so running sums in order of size are those of some order of the
    values: the steps between them are the values."""
    sums: dict[int, list[int]] = defaultdict(list)
    for k, _, v in found:
        sums[k].append(v)
    steps = {
        k: Counter(b - a for a, b in zip([0, *sorted(v)], sorted(v), strict=False))
        for k, v in sums.items()
    }
    values: dict[int, Counter[int]] = defaultdict(Counter)
    for element in stream.elements:
        values[element.record[0]][element.record[2]] += 1
    assert steps == dict(values), "running sums"


def _check_audit(stream: Stream, found: list[Fields]) -> None:
    """Every record is in its window or late, once; what cannot be late is in its window."""
    late = Counter((k, last, v - LATE) for k, last, v in found if v >= LATE)
    inside = Counter(record for record in found if record[2] < LATE)
    assert inside + late == Counter(element.record for element in stream.elements), "audit: all"
    certain = Counter(e.record for e in stream.elements if e.record[1] > e.wm)
    assert not certain - inside, "audit: on time"


def _check_some(stream: Stream, found: list[Fields]) -> None:
    """No record that is not there, and none twice."""
    assert not Counter(found) - Counter(element.record for element in stream.elements), "some"


def _check_table(stream: Stream, found: list[Row]) -> None:
    """The changes amount to the table."""
    amount = table_of((str(row.get_row_kind()), *row) for row in found)
    assert amount == Counter(element.record for element in stream.elements), "table"


_VERDICTS = {"totals": _check_totals, "audit": _check_audit, "some": _check_some}
