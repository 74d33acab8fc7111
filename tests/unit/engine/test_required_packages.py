"""Packages for the workers, in environments with pip, with uv alone, and with neither."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.engine.spark import dependencies


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """A program that needs a package, in an environment without pip."""
    requirements = tmp_path / "requirements.txt"
    # packages that were installed once are there for all later runs
    requirements.write_text(f"# {tmp_path}\ntinypackage==1\n")
    monkeypatch.setattr(dependencies.importlib.util, "find_spec", lambda name: None)
    conf = Configuration()
    conf.set_string("python.requirements", str(requirements))
    return conf


def test_uv_installs_where_there_is_no_pip(
    tmp_path: Path, configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    # like the real one it makes the packages' directory, which is its last argument
    uv.write_text(f'#!/bin/sh\necho "$@" > {told}\nfor last; do :; done\nmkdir -p "$last"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    archives: list[str] = []
    made = dependencies.provide(SimpleNamespace(addArchive=archives.append), configuration)
    assert [archive.partition("#")[2] for archive in archives] == list(made.packages)
    arguments = told.read_text().split()
    assert arguments[:4] == ["pip", "install", "--python", sys.executable]
    assert "-r" in arguments
    assert "--target" in arguments


def test_with_neither_pip_nor_uv_it_says_so(
    configuration: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"requirements\.txt cannot be .*has no pip.*uv"):
        dependencies.provide(SimpleNamespace(), configuration)
