"""Records pushed over HTTP on Spark: what was answered with 200 arrives once, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from tests.spark._kills import REPOSITORY, lines_below

from scurry.testing.servers import free_port, wait_until

PROGRAM = """
import sys
from pathlib import Path
from scurry.common import Configuration, Encoder
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from scurry.datastream.connectors.push import PushSource

root, port = Path(sys.argv[1]), int(sys.argv[2])
env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({
    "execution.checkpointing.dir": str(root / "ck"),
})).set_parallelism(2)
pushed = env.from_source(PushSource(root / "spool", port, "secret"), None, "pushed").uid("pushed")
lines = pushed.key_by(lambda record: record["n"] % 7).map(lambda record: str(record["n"]))
files = FileSink.for_row_format(str(root / "out"), Encoder.simple_string_encoder())
policy = RollingPolicy.default_rolling_policy(part_size=1)
flat = BucketAssigner.base_path_bucket_assigner()
lines.sink_to(files.with_bucket_assigner(flat).with_rolling_policy(policy).build()).uid("files")
env.execute()
"""


def pushed(port: int, number: int) -> bool:
    """Push a record once; whether it was answered with 200."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/",
        json.dumps({"n": number}).encode(),
        {"Authorization": "Bearer secret"},
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_what_was_accepted_arrives_once(tmp_path: Path) -> None:
    port = free_port()
    script = tmp_path / "job.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    accepted: set[int] = set()
    number = 0
    for last in (False, False, True):
        process = subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), str(port)],
            start_new_session=True,
            env={**environment, "SCURRY_MASTER": "local[2]"},
        )
        try:
            wanted = len(accepted) + 150
            deadline = time.monotonic() + 120
            while len(accepted) < wanted:
                assert time.monotonic() < deadline, "records are not accepted"
                number += 1
                if pushed(port, number):
                    accepted.add(number)
                time.sleep(0.02)
            seen = lines_below(tmp_path / "out")
            assert max(Counter(seen).values(), default=1) == 1
            if last:
                wait_until(lambda: accepted <= set(map(int, lines_below(tmp_path / "out"))), 60)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = Counter(map(int, lines_below(tmp_path / "out")))
    assert set(found) >= accepted, "nothing is lost"
    assert max(found.values()) == 1, "nothing is doubled"
