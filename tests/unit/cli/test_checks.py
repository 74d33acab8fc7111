"""Every verdict of ``scurry doctor``, against machines that exist only here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from scurry.cli.checks import (
    MINIMUM_PYTHON,
    REQUIREMENTS,
    Finding,
    Requirement,
    Verdict,
    check_host_address,
    check_java,
    check_loopback,
    check_memory,
    check_package,
    check_python,
    check_temp_disk,
    check_temp_writable,
    examine,
    java_version,
)
from scurry.cli.machine import JavaAnswer, Memory

GB = 1024**3
JAVA_17 = JavaAnswer("/usr/bin/java", True, 'openjdk version "17.0.15" 2025-04-15')


@dataclass(frozen=True)
class PretendMachine:
    """A machine in good order; a test replaces the part that is to be out of order."""

    python: tuple[int, int, int] = (3, 12, 1)
    variables: Mapping[str, str] = field(default_factory=dict)
    java_answer: JavaAnswer = JAVA_17
    packages: Mapping[str, str] = field(
        default_factory=lambda: {
            "pyspark": "4.3.0",
            "pandas": "2.3.3",
            "pyarrow": "26.0.1",
            "numpy": "2.4.6",
            "lmdb": "3.0.0",
        }
    )
    unbindable: Mapping[str, str] = field(default_factory=dict)
    address: str | None = "10.0.0.5"
    main_memory: Memory | None = field(default_factory=lambda: Memory(16 * GB, 12 * GB))
    free: int | None = 50 * GB
    unwritable: str | None = None

    def python_version(self) -> tuple[int, int, int]:
        return self.python

    def environment(self) -> Mapping[str, str]:
        return self.variables

    def java(self) -> JavaAnswer:
        return self.java_answer

    def package_version(self, name: str) -> str | None:
        return self.packages.get(name)

    def bind_failure(self, address: str) -> str | None:
        return self.unbindable.get(address)

    def hostname(self) -> str:
        return "box"

    def address_of(self, hostname: str) -> str | None:
        return self.address

    def memory(self) -> Memory | None:
        return self.main_memory

    def temp_directory(self) -> str:
        return "/tmp"

    def free_disk(self, directory: str) -> int | None:
        return self.free

    def write_failure(self, directory: str) -> str | None:
        return self.unwritable


SOUND = PretendMachine()


def test_a_sound_machine_has_only_ok_findings_without_remedies() -> None:
    findings = examine(SOUND)
    assert {finding.verdict for finding in findings} == {Verdict.OK}
    assert {finding.remedy for finding in findings} == {""}


def test_the_examination_covers_every_check_once() -> None:
    assert [finding.name for finding in examine(SOUND)] == [
        "Python",
        "Java",
        "pyspark",
        "pandas",
        "pyarrow",
        "numpy",
        "lmdb",
        "loopback ports",
        "host address",
        "memory",
        "temp directory",
        "temp disk",
    ]


def test_an_old_python_fails() -> None:
    assert check_python(replace(SOUND, python=(3, 10, 14))) == Finding(
        "Python",
        Verdict.FAIL,
        "3.10.14",
        "Scurry needs Python 3.11 or later: make an environment with a newer interpreter.",
    )


def test_the_oldest_supported_python_is_ok() -> None:
    assert check_python(replace(SOUND, python=(3, 11, 0))).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
        ("", None),
        ("no such thing", None),
    ],
)
def test_java_version_is_read_from_what_java_prints(printed: str, version: int | None) -> None:
    assert java_version(printed) == version


def test_no_java_at_all_fails_and_says_how_to_install_one() -> None:
    finding = check_java(replace(SOUND, java_answer=JavaAnswer(None)))
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "no java on the PATH, JAVA_HOME not set"
    assert "apt-get install openjdk-17-jre-headless" in finding.remedy
    assert "brew install openjdk@17" in finding.remedy


def test_an_old_java_on_the_path_fails() -> None:
    old = JavaAnswer("/usr/bin/java", True, 'openjdk version "11.0.2"')
    finding = check_java(replace(SOUND, java_answer=old))
    assert (finding.verdict, finding.found) == (Verdict.FAIL, "11 (/usr/bin/java)")
    assert finding.remedy.endswith("put it first on the PATH, or set JAVA_HOME to its directory.")


def test_an_old_java_in_java_home_fails_and_names_java_home() -> None:
    old = JavaAnswer("/jdk8/bin/java", True, 'java version "1.8.0_392"')
    machine = replace(SOUND, variables={"JAVA_HOME": "/jdk8"}, java_answer=old)
    assert check_java(machine) == Finding(
        "Java",
        Verdict.FAIL,
        "8 (/jdk8/bin/java)",
        "JAVA_HOME is /jdk8: set it to the directory of a JDK 17 or later, or unset it to use the "
        "java on the PATH.",
    )


def test_a_java_that_does_not_run_fails_with_its_first_line() -> None:
    broken = JavaAnswer("/usr/bin/java", False, "Unable to locate a Java Runtime.\nVisit ...")
    finding = check_java(replace(SOUND, java_answer=broken))
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "/usr/bin/java does not run: Unable to locate a Java Runtime."


def test_a_silent_broken_java_fails() -> None:
    finding = check_java(replace(SOUND, java_answer=JavaAnswer("/usr/bin/java")))
    assert finding.found == "/usr/bin/java does not run: it printed nothing"


def test_a_java_of_unknown_version_is_a_warning() -> None:
    odd = JavaAnswer("/usr/bin/java", True, "GraalVM something")
    finding = check_java(replace(SOUND, java_answer=odd))
    assert finding.verdict is Verdict.WARN
    assert finding.found == "/usr/bin/java does not tell its version"


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        (Requirement("pyspark", "4.3", "4.4"), "4.2.1"),
        (Requirement("pyspark", "4.3", "4.4"), "4.4.0"),
        (Requirement("pandas", "2.2", "3"), "3.0.0"),
        (Requirement("pandas", "2.2", "3"), "2.1.4"),
        (Requirement("pyarrow", "18"), "17.0.0"),
        (Requirement("numpy", "1.26"), "1.9.9"),
        (Requirement("lmdb", "1.6"), "1.5.1"),
    ],
)
def test_a_package_out_of_range_fails(requirement: Requirement, version: str) -> None:
    finding = check_package(replace(SOUND, packages={requirement.package: version}), requirement)
    assert finding.verdict is Verdict.FAIL
    assert finding.found == f"{version}, wanted {requirement}"
    assert finding.remedy == f"Run: python -m pip install '{requirement}'"


@pytest.mark.parametrize("version", ["4.3", "4.3.0.dev1", "4.3.7"])
def test_versions_in_range_are_ok(version: str) -> None:
    machine = replace(SOUND, packages={"pyspark": version})
    assert check_package(machine, REQUIREMENTS[0]) == Finding("pyspark", Verdict.OK, version)


def test_a_missing_package_fails() -> None:
    finding = check_package(replace(SOUND, packages={}), Requirement("lmdb", "1.6"))
    assert finding == Finding(
        "lmdb", Verdict.FAIL, "not installed", "Run: python -m pip install 'lmdb>=1.6'"
    )


def test_the_checked_ranges_are_those_of_the_package_metadata() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    declared = {re.split("[<>=]", text)[0]: text for text in project["dependencies"]}
    assert {r.package: str(r) for r in REQUIREMENTS}.items() <= declared.items()
    assert project["requires-python"] == ">=" + ".".join(map(str, MINIMUM_PYTHON))


def test_an_unbindable_loopback_fails() -> None:
    finding = check_loopback(replace(SOUND, unbindable={"127.0.0.1": "Permission denied"}))
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "127.0.0.1 cannot be bound: Permission denied"
    assert "ip link set lo up" in finding.remedy


def test_a_host_name_without_address_fails_and_points_to_spark_local_ip() -> None:
    assert check_host_address(replace(SOUND, address=None)) == Finding(
        "host address",
        Verdict.FAIL,
        "box resolves to no address",
        "Set SPARK_LOCAL_IP=127.0.0.1, or add '127.0.0.1 box' to /etc/hosts.",
    )


def test_a_host_name_with_a_foreign_address_fails() -> None:
    finding = check_host_address(replace(SOUND, unbindable={"10.0.0.5": "not available"}))
    assert finding.verdict is Verdict.FAIL
    assert finding.found == "box resolves to 10.0.0.5, which cannot be bound: not available"
    assert finding.remedy.startswith("Set SPARK_LOCAL_IP=127.0.0.1")


def test_spark_local_ip_makes_the_host_name_irrelevant() -> None:
    machine = replace(SOUND, address=None, variables={"SPARK_LOCAL_IP": "127.0.0.1"})
    finding = check_host_address(machine)
    assert (finding.verdict, finding.found) == (Verdict.OK, "127.0.0.1 (SPARK_LOCAL_IP)")


def test_a_wrong_spark_local_ip_fails() -> None:
    machine = replace(
        SOUND, variables={"SPARK_LOCAL_IP": "9.9.9.9"}, unbindable={"9.9.9.9": "not available"}
    )
    assert check_host_address(machine) == Finding(
        "host address",
        Verdict.FAIL,
        "SPARK_LOCAL_IP is 9.9.9.9, which cannot be bound: not available",
        "Set SPARK_LOCAL_IP to an address of this machine, for instance 127.0.0.1.",
    )


def test_too_little_memory_fails() -> None:
    finding = check_memory(replace(SOUND, main_memory=Memory(GB, GB)))
    assert (finding.verdict, finding.found) == (Verdict.FAIL, "1.0 GB in all, 1.0 GB available")
    assert finding.remedy == (
        "A local Spark needs 2.0 GB: give the machine or container more memory."
    )


def test_little_available_memory_is_a_warning() -> None:
    finding = check_memory(replace(SOUND, main_memory=Memory(8 * GB, GB)))
    assert (finding.verdict, finding.found) == (Verdict.WARN, "8.0 GB in all, 1.0 GB available")
    assert "lower spark.driver.memory" in finding.remedy


def test_memory_whose_available_part_is_unknown_is_judged_by_its_total() -> None:
    finding = check_memory(replace(SOUND, main_memory=Memory(8 * GB)))
    assert (finding.verdict, finding.found) == (Verdict.OK, "8.0 GB in all")


def test_unknown_memory_is_a_warning() -> None:
    finding = check_memory(replace(SOUND, main_memory=None))
    assert finding == Finding(
        "memory", Verdict.WARN, "unknown on this system", "Make sure that 2.0 GB are there."
    )


def test_an_unwritable_temp_directory_fails() -> None:
    assert check_temp_writable(replace(SOUND, unwritable="Read-only file system")) == Finding(
        "temp directory",
        Verdict.FAIL,
        "/tmp cannot be written: Read-only file system",
        "Set TMPDIR and SPARK_LOCAL_DIRS to a directory that you may write to.",
    )


@pytest.mark.parametrize(
    ("free", "verdict", "found"),
    [
        (GB // 8, Verdict.FAIL, "0.1 GB free in /tmp"),
        (GB, Verdict.WARN, "1.0 GB free in /tmp"),
        (None, Verdict.WARN, "free space of /tmp unknown"),
    ],
)
def test_a_full_disk_is_reported(free: int | None, verdict: Verdict, found: str) -> None:
    finding = check_temp_disk(replace(SOUND, free=free))
    assert (finding.verdict, finding.found) == (verdict, found)
    assert finding.remedy.startswith("Free space there, or set TMPDIR and SPARK_LOCAL_DIRS")
