"""How many files a process of a job may have open."""

from __future__ import annotations

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

IN_A_WORKER = """
import resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
from scurry.common.descriptors import raise_descriptor_limit
raise_descriptor_limit()
files = [open(sys.executable, "rb") for _ in range(300)]
print(len(files))
"""

NOT_ALLOWED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 400))
def refuse(*_):
    raise ValueError("not allowed")
resource.setrlimit = refuse
from scurry.common.descriptors import raise_descriptor_limit
raise_descriptor_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""

PAYLOAD = """
import resource
from pathlib import Path
from scurry.checkpoint.layout import Home
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.payload import JobPayload
from scurry.testing import ListSink
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).sink_to(ListSink())
payload = JobPayload(env._compile(None).spec, "id", [0], Home(Path("nowhere")))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2, hard))
payload.prepare()
print(resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard))
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [(IN_A_WORKER, "300"), (NOT_ALLOWED, "(200, 400)"), (PAYLOAD, "True")],
    ids=["more files", "not allowed", "a task of a job"],
)
def test_a_process_opens_as_many_files_as_it_may(program: str, told: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == told
