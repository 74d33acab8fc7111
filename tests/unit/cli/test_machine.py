"""The answers of the real machine: true where a test can know the truth."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from scurry.cli.machine import JavaAnswer, Memory, ThisMachine, _linux_memory

MACHINE = ThisMachine()


def _program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_python_is_this_interpreter() -> None:
    assert MACHINE.python_version() == sys.version_info[:3]


def test_java_home_wins_over_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path / "home/bin/java", "echo 'openjdk version \"21\"' >&2")
    _program(tmp_path / "path/java", "echo 'openjdk version \"11\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert MACHINE.java() == JavaAnswer(
        str(tmp_path / "home/bin/java"), True, 'openjdk version "21"'
    )


def test_java_of_the_path_is_used_without_java_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path / "java", "echo broken >&2; exit 3")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert MACHINE.java() == JavaAnswer(str(tmp_path / "java"), False, "broken")


def test_a_java_home_without_java_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    answer = MACHINE.java()
    assert (answer.program, answer.worked) == (str(tmp_path / "bin/java"), False)
    assert "No such file" in answer.printed


def test_no_java_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert MACHINE.java() == JavaAnswer(None)


def test_package_versions() -> None:
    assert MACHINE.package_version("click") is not None
    assert MACHINE.package_version("no-such-package-anywhere") is None


def test_binding() -> None:
    assert MACHINE.bind_failure("127.0.0.1") is None
    assert MACHINE.bind_failure("192.0.2.1") is not None


def test_host_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror("unknown")

    assert MACHINE.address_of("127.0.0.1") == "127.0.0.1"
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert MACHINE.address_of("box") is None


def test_memory_of_linux_is_cut_to_the_limit_of_the_container(tmp_path: Path) -> None:
    meminfo, limit = tmp_path / "meminfo", tmp_path / "memory.max"
    meminfo.write_text("MemTotal: 8192 kB\nMemFree: 10 kB\nMemAvailable: 4096 kB\n")
    assert _linux_memory(meminfo, limit) == Memory(8192 * 1024, 4096 * 1024)
    limit.write_text("max\n")
    assert _linux_memory(meminfo, limit) == Memory(8192 * 1024, 4096 * 1024)
    limit.write_text("1048576\n")
    assert _linux_memory(meminfo, limit) == Memory(1048576, 1048576)


def test_memory_is_unknown_without_a_kernel_table(tmp_path: Path) -> None:
    assert _linux_memory(tmp_path / "absent", tmp_path / "absent") is None


def test_memory_of_this_machine() -> None:
    memory = MACHINE.memory()
    assert memory is not None
    assert memory.total > 64 * 1024**2


def test_temp_directory_is_sparks_local_directory_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    assert MACHINE.temp_directory() == str(tmp_path)
    assert MACHINE.write_failure(str(tmp_path)) is None
    assert MACHINE.free_disk(str(tmp_path)) is not None


def test_an_absent_directory_has_no_free_space_and_takes_no_file(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    assert MACHINE.free_disk(absent) is None
    assert MACHINE.write_failure(absent) == "No such file or directory"
