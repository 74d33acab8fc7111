"""What compiles programs stays on the driver: workers that load a job do not import it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from scurry.common.time import Time
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.window import TumblingProcessingTimeWindows
from scurry.engine.spark.launcher import WITHOUT_PANDAS
from scurry.engine.unpicklable import pickled

LOADING = """
import pickle, sys
from scurry.engine.spark import daemon, script_classes
daemon._preload()
with open(sys.argv[1], "rb") as file:
    script_classes.load_with_classes(pickle.load(file))
print(*sorted(name for name in sys.modules if name.startswith("scurry.")))
"""


def test_workers_do_not_import_compilers(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2]).map(lambda n: n + 1).key_by(lambda n: n % 2)
    windows = numbers.window(TumblingProcessingTimeWindows.of(Time.seconds(1)))
    windows.reduce(lambda a, b: a + b).print()
    (tmp_path / "job").write_bytes(pickle.dumps(pickled(env._compile(None).spec)))
    told = subprocess.run(
        [sys.executable, "-c", LOADING, str(tmp_path / "job")],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = told.stdout.split()
    assert "scurry.runtime.windowing.common" in imported
    compilers = ("scurry.compile", "scurry.plan", "scurry.planner", "scurry.sql", "scurry.table")
    assert [name for name in imported if name.startswith(compilers)] == []


@pytest.mark.parametrize(
    ("imports", "environment", "pandas"),
    [
        ("import scurry.datastream", {}, False),
        ("from scurry.engine.spark import daemon; daemon._preload()", {WITHOUT_PANDAS: "1"}, False),
        ("from scurry.engine.spark import daemon; daemon._preload()", {}, True),
    ],
    ids=["driver", "live", "micro-batch"],
)
def test_pandas_is_imported_where_micro_batches_need_it(
    imports: str, environment: dict[str, str], pandas: bool
) -> None:
    """It takes as long as all other imports together."""
    told = subprocess.run(
        [sys.executable, "-c", f"import sys; {imports}; print('pandas' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    assert told.stdout.strip() == str(pandas)
