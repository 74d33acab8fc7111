"""Machines of their own on this machine: network namespaces, joined by a bridge that can be cut.

Processes in different namespaces reach each other over TCP only, and the live engine takes them for
processes of different machines. The namespaces lie in a network that nobody else reaches. Making
them needs the rights of root, and ``ip`` and ``bridge`` of iproute2.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

_numbers = itertools.count()


class Machines:
    """``count`` machines; this one reaches all of them, whether they reach each other or not."""

    def __init__(self, count: int) -> None:
        #: in names of the system, which are short
        self._name = f"sc{os.getpid() % 100_000}{chr(97 + next(_numbers) % 26)}"
        net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        #: the address of this machine
        self.host = f"{net}.1"
        self.hosts = [f"{net}.{number + 2}" for number in range(count)]

    def start(self, stack: ExitStack) -> None:
        """Make them; ``stack`` takes them away."""
        bridge = f"{self._name}b"
        stack.callback(_quietly, "ip", "link", "del", bridge)
        _run("ip", "link", "add", bridge, "type", "bridge")
        _run("ip", "addr", "add", f"{self.host}/24", "dev", bridge)
        _run("ip", "link", "set", bridge, "up")
        for number, host in enumerate(self.hosts):
            space, port = f"{self._name}-{number}", self._port(number)
            stack.callback(_quietly, "ip", "netns", "del", space)
            _run("ip", "netns", "add", space)
            _run(*f"ip link add {port} type veth peer name eth0 netns {space}".split())
            _run("ip", "link", "set", port, "master", bridge, "up")
            for command in (f"ip addr add {host}/24 dev eth0", "ip link set eth0 up"):
                _run(*self.on(number), *command.split())
            _run(*self.on(number), "ip", "link", "set", "lo", "up")

    def on(self, number: int) -> list[str]:
        """What comes before a command that is to run on machine ``number``."""
        return ["ip", "netns", "exec", f"{self._name}-{number}"]

    def cut(self) -> None:
        """From now on nothing gets from one machine to another, and nobody is told."""
        self._isolate("on")

    def mend(self) -> None:
        """The end of :meth:`cut`."""
        self._isolate("off")

    def _isolate(self, how: str) -> None:
        for number in range(len(self.hosts)):
            _run("bridge", "link", "set", "dev", self._port(number), "isolated", how)

    def _port(self, number: int) -> str:
        return f"{self._name}v{number}"


def can_be_made() -> bool:
    """Whether this process may make machines."""
    if shutil.which("ip") is None or shutil.which("bridge") is None:
        return False
    with ExitStack() as stack, suppress(subprocess.CalledProcessError):
        Machines(1).start(stack)
        return True
    return False


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    """So many machines, for a while."""
    with ExitStack() as stack:
        made = Machines(count)
        made.start(stack)
        yield made


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _quietly(*command: str) -> None:
    subprocess.run(command, check=False, capture_output=True)
