"""What functions need beside the program reaches the workers."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from scurry.common.errors import ConfigurationError, ProgramError
from scurry.datastream import StreamExecutionEnvironment


def test_a_file_can_be_imported(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text("def double(n):\n    return 2 * n\n")

    def double(n: int) -> int:
        from own_module import double as own  # type: ignore[import-not-found]

        return int(own(n))

    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_file(str(tmp_path / "own_module.py"))
    assert list(env.from_collection([1, 2]).map(double).execute_and_collect()) == [2, 4]


def test_archives_lie_in_the_working_directory(session: SparkSession, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("de/one.txt", "eins")
    shutil.copy(tmp_path / "words.zip", tmp_path / "more.zip")

    def read(place: str) -> str:
        return Path(place).read_text()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_python_archive(str(tmp_path / "words.zip"), "words")
    env.add_python_archive(str(tmp_path / "more.zip"))
    places = env.from_collection(["words/de/one.txt", "more.zip/de/one.txt"])
    assert list(places.map(read).execute_and_collect()) == ["eins", "eins"]


def test_required_packages_are_installed(session: SparkSession, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "tinypackage-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinypackage.py", "ANSWER = 42\n")
        about = "tinypackage-1.dist-info"
        named = "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1\n"
        wheel.writestr(f"{about}/METADATA", named)
        tagged = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{about}/WHEEL", tagged)
        wheel.writestr(f"{about}/RECORD", "")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("tinypackage==1\n")

    def answer(_: int) -> int:
        import tinypackage  # type: ignore[import-not-found]

        return int(tinypackage.ANSWER)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_python_requirements(str(requirements), str(wheels))
    assert list(env.from_collection([1]).map(answer).execute_and_collect()) == [42]
    assert "tinypackage" not in sys.modules

    requirements.write_text("tinypackage==2\n")
    env.from_collection([1]).map(answer).print()
    with pytest.raises(ConfigurationError, match=r"(?s)could not be installed.*tinypackage==2"):
        env.execute()


def test_another_interpreter_runs_the_workers(session: SparkSession, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nMARKED=yes exec {sys.executable} "$@"\n')
    python.chmod(0o755)

    def marked(_: int) -> str | None:
        import os

        return os.environ.get("MARKED")

    before = session.sparkContext.pythonExec
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_python_executable(str(python))
    try:
        assert list(env.from_collection([1]).map(marked).execute_and_collect()) == ["yes"]
    finally:
        session.sparkContext.pythonExec = before


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for method in (env.add_python_file, env.add_python_archive, env.set_python_requirements):
        with pytest.raises(ProgramError, match=f"{method.__name__}: 'nowhere' does not exist"):
            method("nowhere")


def test_a_job_without_archives_works_where_the_program_does(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("one.txt", "eins")

    def here(_: int) -> str:
        import os

        return os.getcwd()

    def place(*archives: str) -> str:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        for path in archives:
            env.add_python_archive(path, "some")
        (found,) = env.from_collection([1]).map(here).execute_and_collect()
        return str(found)

    before = place()
    assert place(str(tmp_path / "some.zip")) != before
    assert place() == before
