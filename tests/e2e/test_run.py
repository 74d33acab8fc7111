"""``scurry run`` on scripts as people write them: everything defined in the script itself."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

REPOSITORY = Path(__file__).parents[2]


def scurry(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scurry.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


PROGRAM = """
import sys
from dataclasses import dataclass
from enum import Enum

import helper_module
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor


class Kind(Enum):
    CARD = 1
    CASH = 2


@dataclass
class Shop:          # not frozen: hashable only by value
    name: str


@dataclass
class Sale:
    shop: Shop
    kind: Kind
    amount: int


@dataclass
class Total:
    shop: str
    kind: Kind
    amount: int


class Sum(KeyedProcessFunction):
    def open(self, ctx):
        self.total = ctx.get_state(ValueStateDescriptor("total"))

    def process_element(self, sale, ctx):
        shop, kind = ctx.get_current_key()
        assert isinstance(shop, Shop), shop
        total = self.total.value() or Total(shop.name, kind, 0)
        total.amount += sale.amount
        self.total.update(total)
        yield total


sales = [Sale(Shop("ab"[i % 2]), Kind(1 + i % 2), helper_module.double(i)) for i in range(6)]
env = StreamExecutionEnvironment.get_execution_environment()
env.get_configuration().set_string("scurry.batch.max-records", "2")
totals = env.from_collection(sales).key_by(lambda s: (s.shop, s.kind)).process(Sum()).uid("sum")
last = {}
for total in totals.execute_and_collect():
    assert type(total) is Total, total
    last[total.shop, total.kind] = total.amount
for key in sorted(last, key=str):
    print(key, last[key])
print("arguments", sys.argv[1:], "parallelism", env.get_parallelism())
"""


def test_classes_of_the_script_itself_travel_and_come_back(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    (tmp_path / "helper_module.py").write_text("def double(n):\n    return 2 * n\n")
    done = scurry(
        "run", "--master", "local[2]", "--parallelism", "3", "job.py", "x", "--y", cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "('a', <Kind.CARD: 1>) 12",
        "('b', <Kind.CASH: 2>) 18",
        "arguments ['x', '--y'] parallelism 3",
    ]


FAILING = """
from scurry.datastream import StreamExecutionEnvironment

def halve(n):
    return n // 0

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([41]).map(halve).uid("halve").print()
env.execute()
"""


def test_a_failing_job_shows_one_clear_error_and_no_jvm_trace(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(FAILING)
    done = scurry("run", "job.py", cwd=tmp_path)
    shown = done.stdout + done.stderr
    assert done.returncode == 1
    for expected in ("ZeroDivisionError", "halve", "41", "return n // 0"):
        assert expected in shown
    for noise in ("org.apache.spark", "java.lang", "py4j"):
        assert noise not in shown, shown


LOGGING = """
import logging, sys
from scurry.common import Types
from scurry.datastream import StreamExecutionEnvironment

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
pairs = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
pairs.print()
logging.info("starting")
env.execute()
"""


def test_a_program_that_logs_at_info_shows_its_own_lines_only(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(LOGGING)
    done = scurry("run", "job.py", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["starting", "(a,1)"])


def test_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "src"))
    cells = [
        "from dataclasses import dataclass\n"
        "from scurry.datastream import StreamExecutionEnvironment\n"
        "@dataclass\nclass Word:\n    text: str\n    count: int\n",
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "words = env.from_collection(['to', 'be', 'or', 'not', 'to', 'be'])\n"
        "counts = words.map(lambda w: Word(w, 1)).key_by(lambda w: w.text)"
        ".reduce(lambda a, b: Word(a.text, a.count + b.count))\n",
        "sorted((w.text, w.count) for w in counts.execute_and_collect())[-1]",
        "env.from_collection([1, 2]).print()\nenv.execute('printed')\n",
        # a cell run again defines the class again
        "@dataclass\nclass Word:\n    text: str\n    count: int\n    again: bool = True\n"
        "counts = words.map(lambda w: Word(w, 1)).key_by(lambda w: w.text)"
        ".reduce(lambda a, b: Word(a.text, a.count + b.count))\n"
        "sorted((w.text, w.count, w.again) for w in counts.execute_and_collect())[-1]",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert notebook.cells[2].outputs[0]["data"]["text/plain"] == "('to', 2)"
    printed = "".join(o["text"] for o in notebook.cells[3].outputs if o.get("name") == "stdout")
    assert printed == "1\n2\n"
    assert notebook.cells[4].outputs[0]["data"]["text/plain"] == "('to', 2, True)"


def test_progress_goes_to_the_terminal_and_results_to_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from scurry.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.set_parallelism(1)\n"
        "env.get_configuration().set_integer('scurry.batch.max-records', 2)\n"
        "env.from_collection([1, 2, 3, 4]).map(lambda n: n * n).print()\n"
        "env.execute()\n"
    )
    terminal, other_end = pty.openpty()
    job = subprocess.Popen(
        [sys.executable, "-m", "scurry.cli.main", "run", "job.py"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "TERM": "xterm"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=other_end,
    )
    os.close(other_end)
    shown = b""
    # a terminal whose other end is closed gives an error, not an end
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            shown += piece
    os.close(terminal)
    printed, _ = job.communicate()
    assert printed.split() == [b"1", b"4", b"9", b"16"]
    assert job.returncode == 0
    assert b"batch 1" in shown
    assert b"4 read, 4 written" in shown
