"""Files on this machine, written by the JVM without a process for each.

Hadoop, through which Spark writes the files of a query, sets the permissions of every file and
directory that it makes. Without Hadoop's native library, which PySpark does not bring along, it
starts the command ``chmod`` to do so: 9 ms each, about 70 times when a query starts, and for
each file of a micro-batch. Java itself has been able to do that since its version 7. So the JVM is
given a class for local files that differs in this one method from Hadoop's; the compiler with which
Spark compiles its queries compiles it.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from pyspark.sql import SparkSession

_logger = logging.getLogger(__name__)
_FILES = "scurry.LocalFiles"
_SOURCE = """
package scurry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new WithoutChecksums());
    }

    public static class WithoutChecksums extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            Integer mode = Integer.valueOf(permission.toShort());
            Files.setAttribute(pathToFile(path).toPath(), "unix:mode", mode, new LinkOption[0]);
        }
    }
}
"""


def quicken_local_files(session: SparkSession) -> threading.Thread:
    """Have the JVM of ``session`` use the class, beside what this thread goes on to do."""

    def run() -> None:
        try:
            _install(session)
        except Exception as failure:
            # the session was stopped meanwhile, or this Spark has another compiler: files are
            # written as Hadoop does it
            _logger.debug("Local files are written by Hadoop's own class: %s", failure)

    thread = threading.Thread(target=run, name="scurry-local-files", daemon=True)
    thread.start()
    return thread


def _install(session: SparkSession) -> None:
    context: Any = session.sparkContext
    jvm = context._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE)
    settings = jvm.org.apache.hadoop.conf.Configuration(context._jsc.hadoopConfiguration())
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.file.impl", _FILES)
    root = jvm.java.net.URI("file:///")
    files = jvm.org.apache.hadoop.fs.FileSystem
    # Hadoop keeps one object for all local files; closed, it is forgotten, and the next who asks
    # determines the class of its successor
    files.get(root, settings).close()
    files.get(root, settings)
