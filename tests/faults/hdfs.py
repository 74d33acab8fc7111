"""HDFS for tests: a NameNode and a DataNode in one process, from Hadoop's mini cluster."""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from scurry.testing.kafka import ServerMissing, maven_jars

_HADOOP = "3.5.0"
_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_ADDRESS = re.compile(r"dfs\.namenode\.http-address</name><value>([^<]+)<")
_START_SECONDS = 120.0


def hadoop_jars() -> Path:
    """The directory of what the mini cluster needs beyond Spark's jars."""
    coordinates = (
        f"org.apache.hadoop:hadoop-client-minicluster:{_HADOOP}",
        "org.junit.jupiter:junit-jupiter-api:5.11.4",
        "org.junit.platform:junit-platform-commons:1.11.4",
        "org.opentest4j:opentest4j:1.3.0",
        "org.mockito:mockito-core:4.11.0",
    )
    return maven_jars(f"hadoop-minicluster-{_HADOOP}", *coordinates, alone=True)


def hdfs_options() -> dict[str, str]:
    """How the server is reached, by the user who may do everything: who has started it."""
    return {"user": getpass.getuser()}


def data_node(address: str) -> str:
    """Where the DataNode of the HDFS at ``address`` is, as the NameNode tells its clients."""
    asked = f"op=CREATE&noredirect=true&user.name={getpass.getuser()}"
    request = urllib.request.Request(f"http://{address}/webhdfs/v1/asked?{asked}", method="PUT")
    with urllib.request.urlopen(request) as answer:
        place: str = json.load(answer)["Location"]
    return place.partition("//")[2].partition("/")[0]


@contextmanager
def hdfs_server(root: Path) -> Iterator[str]:
    """An empty HDFS with its files below ``root``; the address of WebHDFS. Raises
    :class:`ServerMissing` if there is none to be had."""
    jars = hadoop_jars()
    spark = Path(pyspark.__file__).parent / "jars"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    written = root / "hdfs.xml"
    command = [str(java), "-Xmx512m", "-cp", f"{jars}/*:{spark}/*", _MAIN, "-nomr", "-format"]
    command += ["-nnport", "0", "-writeConfig", str(written)]
    log = (root / "hdfs.log").open("wb")
    with log, subprocess.Popen(command, cwd=root, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + _START_SECONDS
            while (found := _address_in(written)) is None:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise ServerMissing(f"HDFS does not start: see {root / 'hdfs.log'}")
                time.sleep(0.05)
            yield found
        finally:
            process.kill()


def _address_in(written: Path) -> str | None:
    if not written.exists():
        return None
    found = _ADDRESS.search(written.read_text())
    return found[1] if found else None
