"""A JVM that starts in half the time: an archive of Spark's classes, already parsed and verified.

Most of the seconds between starting Python and the first result go into loading some twelve
thousand classes. The JVM can dump them once and map them into memory afterwards (class data
sharing). The archive belongs to one JVM and one version of PySpark; it lives in the user's cache
directory, and without it everything works as before, only slower. The JVM refuses an archive
when one of the jars has another time or size than at the dump, so those are part of its name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

_TRAINING = """
from scurry.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection(range(30))
list(numbers.key_by(lambda n: n % 3).reduce(lambda a, b: a + b).execute_and_collect())
"""


def archive_path() -> Path | None:
    """Where the archive for this JVM and this PySpark is, or would be."""
    java = _java()
    if java is None:
        return None
    real = java.resolve()
    place = f"{pyspark.__version__} {real} {pyspark.__file__}"
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    dated = [(jar.name, jar.stat().st_mtime_ns, jar.stat().st_size) for jar in jars]
    content = f"{real.stat().st_mtime_ns} {dated}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "scurry" / f"spark-{pyspark.__version__}-{_hash(place)}-{_hash(content)}.jsa"


def java_options() -> list[str]:
    """JVM options that use the archive; none if there is no archive."""
    if os.environ.get("SCURRY_TRAINING"):
        return [f"-XX:ArchiveClassesAtExit={os.environ['SCURRY_TRAINING']}", "-Xlog:disable"]
    path = archive_path()
    if path is None or not path.exists():
        return []
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", "-Xlog:cds*=off"]


def create_archive() -> Path | None:
    """Run a small job in a process of its own and keep the classes it loaded."""
    path = archive_path()
    if path is None:
        return None
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [sys.executable, "-c", _TRAINING + _WAIT],
            env={**os.environ, "SCURRY_TRAINING": str(draft), "SCURRY_MASTER": "local[2]"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if not draft.exists():
            return None
        for outdated in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.jsa"):
            outdated.unlink(missing_ok=True)
        draft.rename(path)
    return path


#: Ends the JVM and waits until it has written the archive.
_WAIT = """
from pyspark.sql import SparkSession
session = SparkSession.getActiveSession()
gateway = session.sparkContext._gateway
session.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(timeout=180)
"""


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return Path(home) / "bin" / "java"
    found = shutil.which("java")
    return None if found is None else Path(found)
