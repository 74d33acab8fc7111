"""The checks of ``scurry doctor``, each a pure function from a machine to a finding.

A finding is a verdict, what was found, and, unless all is well, how to mend it. ``FAIL`` means
that a job cannot run; ``WARN`` that it may run badly or that the answer could not be had.
The causes looked for are those that make Spark fail with a message about something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from scurry import PYSPARK_BEFORE, PYSPARK_FROM
from scurry.cli.machine import Machine

MINIMUM_PYTHON = (3, 11)
MINIMUM_JAVA = 17
MINIMUM_MEMORY = 2 * 1024**3
LOW_DISK = 2 * 1024**3
MINIMUM_DISK = 256 * 1024**2


class Verdict(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check; ``remedy`` is empty exactly when the verdict is ``OK``."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Requirement:
    """A package with its supported versions: from ``minimum``, and below ``below`` if given."""

    package: str
    minimum: str
    below: str | None = None

    def __str__(self) -> str:
        upper = f",<{self.below}" if self.below else ""
        return f"{self.package}>={self.minimum}{upper}"


REQUIREMENTS = (
    Requirement("pyspark", PYSPARK_FROM, PYSPARK_BEFORE),
    Requirement("pandas", "2.2", "3"),
    Requirement("pyarrow", "18"),
    Requirement("numpy", "1.26"),
    Requirement("lmdb", "1.7.5"),
)


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``4.3.0.dev1`` gives ``(4, 3, 0)``."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _gigabytes(size: int) -> str:
    return f"{size / 1024**3:.1f} GB"


def check_python(machine: Machine) -> Finding:
    """The interpreter is recent enough."""
    version = machine.python_version()
    found = ".".join(map(str, version))
    if version >= MINIMUM_PYTHON:
        return Finding("Python", Verdict.OK, found)
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    return Finding(
        "Python",
        Verdict.FAIL,
        found,
        f"Scurry needs Python {wanted} or later: make an environment with a newer interpreter.",
    )


def java_version(printed: str) -> int | None:
    """The feature version in the text of ``java -version``: 8 for ``1.8.0_392``, 17, 21, ..."""
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match.group(1)) if match else None


def check_java(machine: Machine) -> Finding:
    """The Java that Spark would start exists, runs, and is recent enough."""
    home = machine.environment().get("JAVA_HOME")
    answer = machine.java()
    install = (
        f"Install a JDK {MINIMUM_JAVA} or later (Debian, Ubuntu: apt-get install "
        f"openjdk-{MINIMUM_JAVA}-jre-headless; macOS: brew install openjdk@{MINIMUM_JAVA})"
    )
    if answer.program is None:
        return Finding(
            "Java", Verdict.FAIL, "no java on the PATH, JAVA_HOME not set", f"{install}."
        )
    remedy = (
        f"JAVA_HOME is {home}: set it to the directory of a JDK {MINIMUM_JAVA} or later, "
        "or unset it to use the java on the PATH."
        if home
        else f"{install} and put it first on the PATH, or set JAVA_HOME to its directory."
    )
    if not answer.worked:
        reason = answer.printed.strip().splitlines()[:1] or ["it printed nothing"]
        return Finding("Java", Verdict.FAIL, f"{answer.program} does not run: {reason[0]}", remedy)
    version = java_version(answer.printed)
    if version is None:
        return Finding("Java", Verdict.WARN, f"{answer.program} does not tell its version", remedy)
    found = f"{version} ({answer.program})"
    if version < MINIMUM_JAVA:
        return Finding("Java", Verdict.FAIL, found, remedy)
    return Finding("Java", Verdict.OK, found)


def check_package(machine: Machine, requirement: Requirement) -> Finding:
    """A package is installed in a supported version."""
    name = requirement.package
    remedy = f"Run: python -m pip install '{requirement}'"
    version = machine.package_version(name)
    if version is None:
        return Finding(name, Verdict.FAIL, "not installed", remedy)
    release = _release(version)
    too_old = release < _release(requirement.minimum)
    too_new = requirement.below is not None and release >= _release(requirement.below)
    if too_old or too_new:
        return Finding(name, Verdict.FAIL, f"{version}, wanted {requirement}", remedy)
    return Finding(name, Verdict.OK, version)


def check_loopback(machine: Machine) -> Finding:
    """A port of the loopback address can be bound: driver and Python workers talk over it."""
    failure = machine.bind_failure("127.0.0.1")
    if failure is None:
        return Finding("loopback ports", Verdict.OK, "127.0.0.1 can be bound")
    return Finding(
        "loopback ports",
        Verdict.FAIL,
        f"127.0.0.1 cannot be bound: {failure}",
        "Spark and its Python workers talk over 127.0.0.1: allow it in the sandbox, container or "
        "firewall, and bring the interface up (ip link set lo up).",
    )


def check_host_address(machine: Machine) -> Finding:
    """The address under which Spark's driver will announce itself exists on this machine."""
    name = "host address"
    local_ip = machine.environment().get("SPARK_LOCAL_IP")
    if local_ip:
        failure = machine.bind_failure(local_ip)
        if failure is None:
            return Finding(name, Verdict.OK, f"{local_ip} (SPARK_LOCAL_IP)")
        return Finding(
            name,
            Verdict.FAIL,
            f"SPARK_LOCAL_IP is {local_ip}, which cannot be bound: {failure}",
            "Set SPARK_LOCAL_IP to an address of this machine, for instance 127.0.0.1.",
        )
    hostname = machine.hostname()
    address = machine.address_of(hostname)
    remedy = f"Set SPARK_LOCAL_IP=127.0.0.1, or add '127.0.0.1 {hostname}' to /etc/hosts."
    if address is None:
        return Finding(name, Verdict.FAIL, f"{hostname} resolves to no address", remedy)
    failure = machine.bind_failure(address)
    if failure is None:
        return Finding(name, Verdict.OK, f"{hostname} is {address}")
    found = f"{hostname} resolves to {address}, which cannot be bound: {failure}"
    return Finding(name, Verdict.FAIL, found, remedy)


def check_memory(machine: Machine) -> Finding:
    """There is memory for a JVM and its Python workers."""
    memory = machine.memory()
    least = _gigabytes(MINIMUM_MEMORY)
    if memory is None:
        return Finding(
            "memory", Verdict.WARN, "unknown on this system", f"Make sure that {least} are there."
        )
    found = f"{_gigabytes(memory.total)} in all"
    if memory.available is not None:
        found += f", {_gigabytes(memory.available)} available"
    if memory.total < MINIMUM_MEMORY:
        return Finding(
            "memory",
            Verdict.FAIL,
            found,
            f"A local Spark needs {least}: give the machine or container more memory.",
        )
    if memory.available is not None and memory.available < MINIMUM_MEMORY:
        return Finding(
            "memory",
            Verdict.WARN,
            found,
            f"A local Spark needs {least}: end other programs, or lower spark.driver.memory.",
        )
    return Finding("memory", Verdict.OK, found)


def check_temp_writable(machine: Machine) -> Finding:
    """Shuffle files and local state can be written to the temporary directory."""
    directory = machine.temp_directory()
    failure = machine.write_failure(directory)
    if failure is None:
        return Finding("temp directory", Verdict.OK, f"{directory} is writable")
    return Finding(
        "temp directory",
        Verdict.FAIL,
        f"{directory} cannot be written: {failure}",
        "Set TMPDIR and SPARK_LOCAL_DIRS to a directory that you may write to.",
    )


def check_temp_disk(machine: Machine) -> Finding:
    """The disk below the temporary directory has room."""
    directory = machine.temp_directory()
    free = machine.free_disk(directory)
    remedy = "Free space there, or set TMPDIR and SPARK_LOCAL_DIRS to a directory on a larger disk."
    if free is None:
        return Finding("temp disk", Verdict.WARN, f"free space of {directory} unknown", remedy)
    found = f"{_gigabytes(free)} free in {directory}"
    if free < MINIMUM_DISK:
        return Finding("temp disk", Verdict.FAIL, found, remedy)
    if free < LOW_DISK:
        return Finding("temp disk", Verdict.WARN, found, remedy)
    return Finding("temp disk", Verdict.OK, found)


def examine(machine: Machine) -> list[Finding]:
    """All findings, in the order in which one would mend them."""
    before: Iterable[Callable[[Machine], Finding]] = (check_python, check_java)
    after: Iterable[Callable[[Machine], Finding]] = (
        check_loopback,
        check_host_address,
        check_memory,
        check_temp_writable,
        check_temp_disk,
    )
    return [
        *(check(machine) for check in before),
        *(check_package(machine, requirement) for requirement in REQUIREMENTS),
        *(check(machine) for check in after),
    ]
