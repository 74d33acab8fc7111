"""Two workers of a standalone cluster whose tasks meet over encrypted TCP, and a job that goes from
the live engine to micro-batches and back by savepoints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.faults.crossing_job import EACH, KEYS, WAY
from tests.faults.standalone import environment, standalone_cluster

#: Has every process take the others for processes on other machines, so that they meet over TCP,
#: and note each connection over TCP that it has.
EACH_A_MACHINE = """
import os, socket
from pathlib import Path
from scurry.engine.live import doors, links

made = links.Link.__init__

def noted(self, connection):
    made(self, connection)
    if connection.family == socket.AF_INET:
        with Path(__file__).with_name("links").joinpath(str(os.getpid())).open("a") as file:
            file.write(type(self).__name__ + "\\n")

doors.this_machine = lambda: str(os.getpid())
links.Link.__init__ = noted
"""


@pytest.mark.cluster
def test_encrypted_between_tasks_and_from_engine_to_engine(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "sitecustomize.py").write_text(EACH_A_MACHINE)
    with standalone_cluster(tmp_path / "cluster") as master:
        own = environment(tmp_path / "driver")
        # Java starts faster with what is kept in the cache of the user
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        path = os.pathsep.join([str(tmp_path), own["PYTHONPATH"]])
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.crossing_job", master, str(tmp_path / "job")],
            env={**own, "PYTHONPATH": path, "XDG_CACHE_HOME": cache},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
    told = [line.removeprefix("RESULT") for line in done.stdout.splitlines() if "RESULT" in line]
    parts = [json.loads(line) for line in told]
    assert [engine for engine, _ in parts] == [engine for engine, *_ in WAY], done.stderr[-3000:]
    assert all(rows for _, rows in parts), "there was something to do in each"
    found = Counter(tuple(row) for _, rows in parts for row in rows)
    assert found == Counter((key, count + 1) for key in range(KEYS) for count in range(EACH))
    links = [path.read_text().split() for path in (tmp_path / "links").iterdir()]
    assert len(links) >= 3, "the driver and two tasks"
    # with the driver and with each other
    assert all(len(each) >= 2 and set(each) == {"SecureLink"} for each in links)
