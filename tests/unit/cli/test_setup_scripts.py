"""The shell scripts behind ``make``: which Java and which Python they accept."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
TOOLS = ("sh", "sed", "head", "grep", "dirname", "cat", "id")


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A directory for PATH that holds the plainest tools: no Java, no Python, no apt-get."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (directory / tool).symlink_to(found)
    return directory


def fake_java(path: Path, version: str) -> Path:
    """A program that answers as ``java -XshowSettings:properties -version`` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    home = path.parent.parent
    path.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    path.chmod(0o755)
    return home


def script(name: str, path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script in an empty directory, never in this one: it works on ``.venv``."""
    environment = {"PATH": str(path), "SCURRY_JVM_DIRS": "", **variables}
    return subprocess.run(
        [str(path / "sh"), str(SCRIPTS / name)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=path.parent,
        check=False,
    )


on_linux = pytest.mark.skipif(
    os.path.exists("/usr/libexec/java_home"), reason="macOS finds its own Java"
)


def test_java_home_is_accepted(tmp_path: Path, bare_path: Path) -> None:
    home = fake_java(tmp_path / "jdk/bin/java", "17")
    done = script("ensure-java.sh", bare_path, JAVA_HOME=str(home))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{home}\n", "")


def test_an_old_java_home_is_passed_over_for_the_path(tmp_path: Path, bare_path: Path) -> None:
    old = fake_java(tmp_path / "jdk8/bin/java", "1.8")
    home = fake_java(bare_path / "java", "21")
    done = script("ensure-java.sh", bare_path, JAVA_HOME=str(old))
    assert (done.returncode, done.stdout) == (0, f"{home}\n")
    assert f"JAVA_HOME is {old}, which holds no Java 17 or later" in done.stderr


@on_linux
def test_the_usual_directories_are_searched_and_17_comes_first(
    tmp_path: Path, bare_path: Path
) -> None:
    fake_java(bare_path / "java", "11")
    fake_java(tmp_path / "jvm/a-25/bin/java", "25")
    home = fake_java(tmp_path / "jvm/b-17/bin/java", "17")
    done = script("ensure-java.sh", bare_path, SCURRY_JVM_DIRS=str(tmp_path / "jvm"))
    assert (done.returncode, done.stdout) == (0, f"{home}\n")


@on_linux
def test_without_java_the_script_says_how_to_install_one(bare_path: Path) -> None:
    done = script("ensure-java.sh", bare_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Spark needs Java 17 or later" in done.stderr
    assert "brew install openjdk@17" in done.stderr


def test_without_python_the_script_says_how_to_install_one(bare_path: Path) -> None:
    done = script("ensure-venv.sh", bare_path)
    assert done.returncode == 1
    assert "no Python 3.11 or later found" in done.stderr


def test_a_named_interpreter_that_is_too_old_is_refused(bare_path: Path) -> None:
    (bare_path / "old").write_text("#!/bin/sh\nexit 1\n")
    (bare_path / "old").chmod(0o755)
    done = script("ensure-venv.sh", bare_path, SCURRY_PYTHON="old")
    assert done.returncode == 1
    assert "SCURRY_PYTHON is old, which is not a Python 3.11 or later" in done.stderr
