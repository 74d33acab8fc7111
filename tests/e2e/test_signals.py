"""Ctrl-C and SIGTERM end a job in good order, and the next start goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
#: Counts numbers in state, and writes each with its count: lost or repeated ones would show.
PROGRAM = """
import sys
from scurry.common import Configuration, WatermarkStrategy
from scurry.common.serialization import Encoder
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from scurry.datastream.connectors.file_system import FileSink, RollingPolicy
from scurry.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count"))

    def process_element(self, number, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{number} {self.count.value()}"


checkpoint, output = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment(
    Configuration.of({"execution.checkpointing.dir": checkpoint})
)
env.set_parallelism(1)
source = DataGeneratorSource(lambda n: n, 10**9, RateLimiterStrategy.per_second(200))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
numbers.key_by(lambda n: 0).process(Count()).uid("count").sink_to(sink).uid("sink")
env.execute("endless")
"""


def lines(output: Path) -> list[str]:
    """What is visible in the sink's directory."""
    parts = output.glob("[!._]*/part-*")
    return [line for part in parts for line in part.read_text().splitlines()]


def run_until_output(tmp_path: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start the program, and return once it has written something more. What it tells goes to a
    file: Spark's JVM, which lives on for a moment, would hold a pipe open."""
    output = tmp_path / "output"
    before = len(lines(output)) if output.exists() else 0
    with (tmp_path / "told").open("w") as told:
        job = subprocess.Popen(
            [*command, str(tmp_path / "endless.py"), str(tmp_path / "checkpoint"), str(output)],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
            stderr=told,
        )
    while job.poll() is None and (not output.exists() or len(lines(output)) <= before):
        time.sleep(0.2)
    return job


def ended(tmp_path: Path, job: subprocess.Popen[bytes]) -> str:
    """Wait for the end of the program; what it told."""
    job.wait(timeout=120)
    return (tmp_path / "told").read_text()


def test_signals_end_a_job_in_good_order(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(PROGRAM)
    job = run_until_output(tmp_path, sys.executable)
    job.send_signal(signal.SIGINT)
    told = ended(tmp_path, job)
    assert job.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert "stops after the micro-batch under way (Ctrl-C)" in told
    assert "'endless' was stopped; all it has processed is committed." in told
    assert "Traceback" not in told

    job = run_until_output(tmp_path, sys.executable, "-m", "scurry.cli.main", "run")
    job.send_signal(signal.SIGTERM)
    told = ended(tmp_path, job)
    assert job.returncode == 128 + signal.SIGTERM
    assert "(SIGTERM)" in told
    assert "Traceback" not in told

    written = sorted(lines(tmp_path / "output"), key=lambda line: int(line.split()[0]))
    assert written == [f"{number} {number + 1}" for number in range(len(written))]
