"""The command that Spark takes for Python: what is on its path, and which processes are forked."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scurry.engine.spark.hand_over import STATE_VARIABLES
from scurry.engine.spark.launcher import WITHOUT_PANDAS, write_launcher

#: A daemon that does nothing but have a nursery.
DAEMON = """
import signal, sys
from scurry.engine.spark.slot_process import start_nursery
from scurry.engine.spark.slot_work import SlotWork

start_nursery(sys.argv[1], SlotWork(lambda: 0, lambda: None), lambda: None)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # short enough for the path of a socket
    return tmp_path_factory.mktemp("l")


@pytest.fixture
def launcher(place: Path) -> str:
    return write_launcher(str(place))


@pytest.fixture
def daemon(place: Path, launcher: str) -> Iterator[subprocess.Popen[str]]:
    script = place / "daemon.py"
    script.write_text(DAEMON)
    (place / "s").mkdir()
    process = subprocess.Popen(
        [launcher, str(script), str(place / "s")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def frame(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def asked(launcher: str, place: Path) -> list[str]:
    """Ask for state variables as Spark does; the command line of the process that answers."""
    path = str(place / "spark")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(30)
        environment = {
            **os.environ,
            "PYTHON_WORKER_FACTORY_SOCK_PATH": path,
            "PYTHON_UNIX_DOMAIN_ENABLED": "True",
        }
        started = subprocess.Popen([launcher, "-m", STATE_VARIABLES], env=environment)
        connection = listener.accept()[0]
    os.unlink(path)
    with connection:
        connection.settimeout(30)
        pid = int.from_bytes(connection.recv(4), "big")
        command = psutil.Process(pid).cmdline()
        # a function that cannot be read: the process says so, and ends
        connection.sendall(frame(b"%d.%d" % sys.version_info[:2]) + frame(b"no pickle"))
        connection.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: connection.recv(4096), b""))
    assert b"UnpicklingError" in said
    assert started.wait(30) == 0
    return command


def test_what_spark_asks_once_is_forked(
    launcher: str, place: Path, daemon: subprocess.Popen[str]
) -> None:
    assert str(place / "daemon.py") in asked(launcher, place)
    # the process starts by itself where nobody can fork it
    for child in psutil.Process(daemon.pid).children():
        child.kill()
        child.wait()
    assert STATE_VARIABLES in asked(launcher, place)


def test_without_a_daemon_it_is_python(launcher: str, place: Path) -> None:
    assert STATE_VARIABLES in asked(launcher, place)


def test_what_spark_puts_on_the_path_is_left_out(launcher: str) -> None:
    given = ["/a/pyspark.zip", "/a/py4j-0.10-src.zip", "/a/spark-core_2.13-4.3.0.jar", "/mine"]
    printed = subprocess.run(
        [launcher, "-c", "import os; print(os.environ['PYTHONPATH'])"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(given)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == "/mine\n"


@pytest.mark.parametrize("pandas", [True, False])
def test_the_daemon_is_told_when_it_need_not_import_pandas(place: Path, pandas: bool) -> None:
    command = [
        write_launcher(str(place), pandas),
        "-c",
        f"import os; print({WITHOUT_PANDAS!r} in os.environ)",
    ]
    told_so = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told_so.strip() == str(not pandas)
