"""Programs that are killed when they have done some micro-batches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LINES = [f"{number % 7}-{number}" for number in range(280)]

# The beginning of a program that counts the lines of files by what is before the dash, in many
# small micro-batches; ``counts`` are pairs of the key and how many lines of it there were so far.
COUNTING = """
import sys
from pathlib import Path
from scurry.common import Configuration, Encoder
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import (
    BucketAssigner, FileSink, FileSource, RollingPolicy, StreamFormat,
)
from scurry.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value.partition("-")[0], self.count.value()

root = Path(sys.argv[1])
env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({
    "execution.checkpointing.dir": str(root / "ck"),
    "scurry.batch.max-records": "16",
})).set_parallelism(2)
env.on_progress(lambda progress: print("batch", progress.batch, flush=True))
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(root / "in"))
lines = env.from_source(source.build(), None, "lines").uid("lines")
counts = lines.key_by(lambda line: line.partition("-")[0]).process(Count()).uid("count")
"""

# The end of such a program.
RUNNING = """
env.execute()
print("finished", flush=True)
"""


def counting_program(root: Path, sinks: str, *arguments: str) -> list[str]:
    """The command of a program that counts :data:`LINES` into ``sinks``."""
    (root / "in").mkdir()
    for number in range(4):
        part = LINES[number * 70 : (number + 1) * 70]
        (root / "in" / f"{number}.txt").write_text("\n".join(part) + "\n")
    script = root / "job.py"
    script.write_text(COUNTING + sinks + RUNNING)
    return [sys.executable, str(script), str(root), *arguments]


def all_counts() -> tuple[Counter[str], Counter[tuple[str, int]]]:
    """How many lines each key has, and all pairs that the program writes."""
    sizes = Counter(line.partition("-")[0] for line in LINES)
    return sizes, Counter((key, n) for key, size in sizes.items() for n in range(1, size + 1))


def lines_below(directory: Path) -> list[str]:
    parts = [path for path in directory.rglob("*") if path.is_file()]
    visible = [path for path in parts if ".scurry" not in path.parts]
    return [line for path in visible for line in path.read_text().splitlines()]


def run_and_kill(command: list[str], batches: int | None, delay: float) -> bool:
    """Run until so many micro-batches are done, then kill; whether the job finished instead."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**environment, "SCURRY_MASTER": "local[2]"},
    )
    assert process.stdout is not None
    finished = False
    with process.stdout:
        for line in process.stdout:
            finished = finished or line.startswith("finished")
            batches = None if batches is None else batches - line.startswith("batch")
            if batches == 0:
                time.sleep(delay)
                os.killpg(process.pid, signal.SIGKILL)
                break
    process.wait()
    return finished
