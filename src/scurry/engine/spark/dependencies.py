"""What a job's functions need beside the program: files, archives, packages, an interpreter.

Spark carries files to the executors and unpacks archives there. Workers of a job that has archives
work in the directory that holds them, so that ``open("data/words.txt")`` finds what was given as
``add_python_archive("words.zip", "data")``. Required packages are installed once, on the driver,
and travel as an archive.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.options import python


@dataclass(frozen=True)
class Dependencies:
    """What the workers of a job are to do before they load it."""

    #: archives that hold packages, by the names they are unpacked under
    packages: tuple[str, ...] = ()
    #: whether functions expect archives in the working directory
    archives: bool = False

    def prepare(self) -> None:
        """Called in a worker before each task: jobs share workers."""
        global _home
        if self.archives or self.packages:
            from pyspark import SparkFiles

            root = SparkFiles.getRootDirectory()
            for name in self.packages:
                place = os.path.join(root, name)
                if place not in sys.path:
                    sys.path.insert(0, place)
            if self.archives:
                _home = _home or os.getcwd()
                os.chdir(root)
                return
        if _home:
            os.chdir(_home)


#: Where this worker was before a job with archives came.
_home = ""


NOTHING = Dependencies()


def provide(context: Any, configuration: Configuration) -> Dependencies:
    """Hand to Spark, ``context``, what the configuration names."""
    for path in python.PYTHON_FILES.read(configuration):
        context.addPyFile(path)
    archives = python.PYTHON_ARCHIVES.read(configuration)
    for archive in archives:
        path, _, target = archive.partition("#")
        context.addArchive(f"{path}#{target or Path(path).name}")
    packages: list[str] = []
    required = python.PYTHON_REQUIREMENTS.read(configuration)
    if required:
        file, _, cache = required.partition("#")
        made = _install(file, cache)
        context.addArchive(f"{made}#{made.stem}")
        packages.append(made.stem)
    executable = python.PYTHON_EXECUTABLE.read(configuration)
    if executable:
        context.pythonExec = executable
    return Dependencies(tuple(packages), bool(archives))


_installed: dict[tuple[str, str], Path] = {}


def _installer(file: str) -> list[str]:
    """The command that installs packages: pip, or uv in an environment that uv has made, which has
    no pip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    uv = shutil.which("uv")
    if uv is None:
        raise ConfigurationError(
            f"The packages of {file} cannot be installed for the workers: the environment of "
            f"{sys.executable} has no pip, and there is no uv on the PATH. Install one of them."
        )
    return [uv, "pip", "install", "--python", sys.executable]


def _install(file: str, cache: str) -> Path:
    """The packages that a requirements file names, as an archive; with ``cache``, a directory of
    packages, nothing is downloaded."""
    content = Path(file).read_text(encoding="utf-8")
    known = (content, cache)
    if known not in _installed:
        name = f"requirements-{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}"
        work = Path(tempfile.mkdtemp(prefix="scurry-requirements-"))
        atexit.register(shutil.rmtree, work, ignore_errors=True)
        command = [*_installer(file), "--quiet", "-r", file, "--target", str(work / name)]
        if cache:
            command += ["--no-index", "--find-links", cache]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(work, ignore_errors=True)
            raise ConfigurationError(
                f"The packages of {file} could not be installed for the workers: "
                f"{done.stderr.strip()}"
            )
        (work / name).mkdir(exist_ok=True)
        made = shutil.make_archive(str(work / name), "zip", work / name)
        shutil.rmtree(work / name)
        _installed[known] = Path(made)
    return _installed[known]
