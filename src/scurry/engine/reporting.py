"""How a running job shows its metrics: to ``scurry status``, and to Prometheus if asked to."""

from __future__ import annotations

import logging
from collections.abc import Callable

from scurry.common.any_paths import AnyPath
from scurry.common.configuration import Configuration
from scurry.common.job_metrics import JobMetrics
from scurry.common.options.metrics import STATUS_FILE
from scurry.engine.prometheus import endpoint_of
from scurry.engine.status import StatusFile

_log = logging.getLogger("scurry.engine")


class Reporting:
    """What shows the metrics of one job, from its start to its end."""

    def __init__(
        self,
        directory: AnyPath,
        job_id: str,
        metrics: Callable[[], JobMetrics],
        configuration: Configuration,
        queries: Callable[[], str] = str,
    ) -> None:
        """Begin to listen, if the configuration says so; raises if that cannot be done. ``queries``
        tells where queries about state are answered now."""
        self._endpoint = endpoint_of(configuration, metrics)
        #: where Prometheus can read the metrics, if anywhere
        self.address = "" if self._endpoint is None else self._endpoint.address
        self._file: StatusFile | None = None
        if STATUS_FILE.read(configuration):
            self._file = StatusFile(directory, job_id, metrics, self.address, queries)

    def start(self) -> None:
        """The job starts."""
        if self.address:
            _log.info("metrics for Prometheus are at %s", self.address)
        if self._file is not None:
            self._file.start()

    def close(self, keep: bool) -> None:
        """The job has ended; ``keep`` says whether its directory stays."""
        if self._file is not None:
            self._file.close(keep)
        if self._endpoint is not None:
            self._endpoint.close()
