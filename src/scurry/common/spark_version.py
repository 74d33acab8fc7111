"""Which versions of PySpark a job can run on."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from scurry import PYSPARK_BEFORE, PYSPARK_FROM
from scurry.common.errors import ConfigurationError


def check_spark_version() -> None:
    """Raise :class:`ConfigurationError` if PySpark is older than what Scurry is built on; called
    before anything of it is imported, which would fail in other words."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return
    numbers = re.match(r"(\d+)\.(\d+)", found)
    if numbers and tuple(map(int, numbers.groups())) < tuple(map(int, PYSPARK_FROM.split("."))):
        wanted = f"pyspark>={PYSPARK_FROM},<{PYSPARK_BEFORE}"
        raise ConfigurationError(
            f"PySpark {found} is too old to run a job of Scurry, which needs {PYSPARK_FROM}. "
            f"Install it, on all machines: python -m pip install {wanted!r}. Checkpoints and "
            "savepoints are read by later versions."
        )
