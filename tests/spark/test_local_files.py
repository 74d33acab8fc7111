"""The JVM sets permissions of local files without starting a process."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from scurry.engine.spark.local_files import quicken_local_files


def test_permissions_are_set_by_the_jvm_itself(session: SparkSession, tmp_path: Path) -> None:
    quicken_local_files(session).join()
    context: Any = session.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs
    directory = hadoop.Path(str(tmp_path / "a b"))
    files = directory.getFileSystem(context._jsc.hadoopConfiguration())
    permission = hadoop.permission.FsPermission
    assert files.mkdirs(directory, permission("750"))
    assert stat.S_IMODE((tmp_path / "a b").stat().st_mode) == 0o750
    file = hadoop.Path(directory, "file")
    # with the checksum that Hadoop keeps beside each file
    files.create(file).close()
    files.setPermission(file, permission("640"))
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a b").iterdir()}
    assert found == {"file": 0o640, ".file.crc": 0o640}
    # Hadoop's own class would start a process for each
    assert files.getRawFileSystem().getClass().getName().startswith("scurry.LocalFiles")
