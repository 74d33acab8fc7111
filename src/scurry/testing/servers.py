"""Real servers for tests: Postgres, Redis and RabbitMQ, from what the system has installed.

Each has a directory of its own, listens on the loopback address only, and can be stopped and
started again with its data, as a server does that is being maintained.
"""

from __future__ import annotations

import contextlib
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Self

_START_SECONDS = 120.0
_PORTS = range(15_000, 30_000)


def free_port() -> int:
    """A port of the loopback address that nobody uses.

    The port is below those that systems give to outgoing connections: a server that needs
    seconds before it listens would find such a port taken.
    """
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"none of 100 ports between {_PORTS[0]} and {_PORTS[-1]} is free")


class LocalServer(ABC):
    """A server process with data of its own."""

    def __init__(self, user: str | None = None) -> None:
        self.port = free_port()
        self._user = user
        self.directory = tempfile.mkdtemp(prefix=f"scurry-{type(self).__name__.lower()}-")
        if user is not None:
            shutil.chown(self.directory, user)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @abstractmethod
    def command(self) -> list[str]:
        """What starts the server in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server takes connections."""

    def start(self) -> None:
        """Start the server and wait until it answers."""
        log = os.path.join(self.directory, "log")
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                self.command(), stdout=output, stderr=output, user=self._user, cwd=self.directory
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                # what was started holds the caller's output open: end it, then say why
                self.stop(signal.SIGKILL)
                with open(log, errors="replace") as text:
                    raise RuntimeError(f"{type(self).__name__} did not start:\n{text.read()}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server and wait for its end; its data stay."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def _run(self, *command: str) -> None:
        subprocess.run(
            command, check=True, capture_output=True, user=self._user, cwd=self.directory
        )

    def _connects(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


def find_program(name: str, *places: str) -> str | None:
    """The path of a program, also where the PATH does not lead."""
    found = shutil.which(name)
    for pattern in places:
        found = found or next(iter(sorted(glob.glob(pattern), reverse=True)), None)
    return found


def _unprivileged() -> str | None:
    """Postgres refuses to run as root."""
    return None if os.geteuid() != 0 else "nobody"


class PostgresServer(LocalServer):
    """A Postgres with an empty database ``postgres``, for everybody on the loopback address."""

    def __init__(self) -> None:
        super().__init__(_unprivileged())
        self._data = os.path.join(self.directory, "data")
        initdb = find_program("initdb", "/usr/lib/postgresql/*/bin/initdb")
        postgres = find_program("postgres", "/usr/lib/postgresql/*/bin/postgres")
        assert initdb is not None
        assert postgres is not None
        self._postgres = postgres
        self._run(
            initdb, "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )

    @staticmethod
    def installed() -> bool:
        """Whether this machine can run one."""
        return find_program("initdb", "/usr/lib/postgresql/*/bin/initdb") is not None

    @property
    def dsn(self) -> str:
        """How to connect."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.directory,
            "fsync": "off",
            "max_connections": "50",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._postgres, "-D", self._data, "-p", str(self.port), *options]

    def answers(self) -> bool:
        import psycopg

        with contextlib.suppress(psycopg.Error), psycopg.connect(self.dsn, connect_timeout=2):
            return True
        return False


class RedisServer(LocalServer):
    """A Redis that writes every command to disk."""

    @staticmethod
    def installed() -> bool:
        """Whether this machine can run one."""
        return find_program("redis-server") is not None

    @property
    def url(self) -> str:
        """How to connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        program = find_program("redis-server")
        assert program is not None
        settings = {
            "--port": str(self.port),
            "--bind": "127.0.0.1",
            "--dir": self.directory,
            "--appendonly": "yes",
            "--save": "",
        }
        return [program, *(part for pair in settings.items() for part in pair)]

    def answers(self) -> bool:
        return self._connects()


class RabbitMQServer(LocalServer):
    """A RabbitMQ for ``guest`` on the loopback address, with a name service of its own."""

    _PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    def __init__(self) -> None:
        super().__init__()
        self._names_port = free_port()
        self._names: subprocess.Popen[bytes] | None = None

    @staticmethod
    def installed() -> bool:
        """Whether this machine can run one."""
        return RabbitMQServer._program() is not None

    @classmethod
    def _program(cls) -> str | None:
        # what Debian has on the path starts the machine's own server, and nothing else
        return find_program(cls._PROGRAM) or find_program("rabbitmq-server")

    @property
    def uri(self) -> str:
        """How to connect."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2f"

    def command(self) -> list[str]:
        program = self._program()
        assert program is not None
        settings = {
            "HOME": self.directory,
            "RABBITMQ_NODENAME": f"scurry-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": free_port(),
            "RABBITMQ_MNESIA_BASE": self.directory,
            "RABBITMQ_LOG_BASE": self.directory,
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{self.directory}/plugins",
            "RABBITMQ_CONF_ENV_FILE": f"{self.directory}/environment",
            "RABBITMQ_CONFIG_FILE": f"{self.directory}/config",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1 +sbwt none",
            "ERL_EPMD_PORT": self._names_port,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            # no shell in between: signals reach the server itself
            "detached": 1,
        }
        return ["env", *(f"{name}={value}" for name, value in settings.items()), program]

    def start(self) -> None:
        # without this the server would start one of these that stays for ever
        epmd = find_program("epmd", "/usr/lib/erlang/erts-*/bin/epmd")
        assert epmd is not None
        where = ["-port", str(self._names_port), "-address", "127.0.0.1"]
        self._names = subprocess.Popen([epmd, *where])
        super().start()

    def answers(self) -> bool:
        return self._connects()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        super().stop(how)
        if self._names is not None:
            self._names.kill()
            self._names.wait()
            self._names = None


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something to become true; an error if it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not true after {seconds:g} s")
        time.sleep(0.02)
