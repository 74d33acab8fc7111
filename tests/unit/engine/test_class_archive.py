"""The archive of Spark's classes: one for each state of the jars, and old ones are not kept."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest

from scurry.engine.spark import class_archive


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PySpark with a single jar, a Java and an empty cache directory."""
    for name in ("pyspark/jars/spark.jar", "java/bin/java"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"content")
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "pyspark" / "__init__.py"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SCURRY_TRAINING", raising=False)
    return tmp_path


def path_now() -> Path:
    path = class_archive.archive_path()
    assert path is not None
    return path


def test_jars_of_another_time_have_another_archive(installation: Path) -> None:
    before = path_now()
    assert path_now() == before
    os.utime(installation / "pyspark" / "jars" / "spark.jar", (1, 1))
    assert path_now() != before


def test_an_archive_of_jars_installed_anew_is_not_used(installation: Path) -> None:
    before = path_now()
    before.parent.mkdir(parents=True)
    before.write_bytes(b"archive")
    assert f"-XX:SharedArchiveFile={before}" in class_archive.java_options()
    os.utime(installation / "pyspark" / "jars" / "spark.jar", (1, 1))
    assert class_archive.java_options() == []


def test_a_new_archive_replaces_the_one_of_the_jars_before(
    installation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dump(command: list[str], env: dict[str, str], **_: object) -> None:
        Path(env["SCURRY_TRAINING"]).write_bytes(b"archive")

    monkeypatch.setattr(class_archive.subprocess, "run", dump)
    first = class_archive.create_archive()
    assert first is not None
    os.utime(installation / "pyspark" / "jars" / "spark.jar", (1, 1))
    second = class_archive.create_archive()
    assert list(first.parent.glob("*.jsa")) == [second]
