"""The Prometheus endpoint: a job's metrics as text, over HTTP.

The endpoint is off unless a port is configured. It listens on the loopback interface unless another
address is configured, and then a token is needed: metrics tell names of operators and topics, and
how busy somebody's business is. The format is Prometheus' text format 0.0.4. A metric of an
operator is ``scurry_operator_`` and Flink's name, one sample for each slot, with the labels that
Flink's reporter gives: ``job_id``, ``job_name``, ``operator_id``, ``operator_name`` and
``subtask_index``.
"""

from __future__ import annotations

import hmac
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from scurry import __version__
from scurry.common.addresses import is_loopback, ports_of
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.job_metrics import (
    JobMetrics,
    OperatorMetrics,
    SlotMetrics,
    TaskMetrics,
    definitions,
)
from scurry.common.options.metrics import PROMETHEUS_HOST, PROMETHEUS_PORT, PROMETHEUS_TOKEN

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "scurry_"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")

Labels = Mapping[str, str]


def as_text(metrics: JobMetrics) -> str:
    """All metrics in Prometheus' text format."""
    page = _Page()
    job = {"job_id": metrics.job_id, "job_name": metrics.name}
    page.add_fields("job_", [(job, metrics)], JobMetrics)
    page.add_parts(job, metrics)
    tasks = [
        ({**job, "stage": str(t.stage), "subtask_index": str(t.slot)}, t) for t in metrics.tasks
    ]
    page.add_fields("task_", tasks, TaskMetrics)
    operators = [({**job, **_operator_labels(each)}, each) for each in metrics.operators]
    slots = [
        ({**labels, "subtask_index": str(slot.slot)}, slot)
        for labels, each in operators
        for slot in each.slots
    ]
    page.add_fields("operator_", slots, SlotMetrics)
    known = {each.field for each in definitions(SlotMetrics)}
    page.add_fields("operator_", operators, OperatorMetrics, known)
    for labels, each in operators:
        page.add_user(labels, each.user)
    return page.text()


def _operator_labels(operator: OperatorMetrics) -> Labels:
    return {"operator_id": operator.uid, "operator_name": operator.name}


class _Page:
    """Families of samples; all samples of a family stand together, as the format demands."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = {}

    def add_fields(
        self,
        scope: str,
        samples: Iterable[tuple[Labels, msgspec.Struct]],
        kind: type[msgspec.Struct],
        without: Iterable[str] = (),
    ) -> None:
        """The metrics that are fields of ``kind``, but for those of ``without``."""
        left_out, rows = set(without), list(samples)
        for each in definitions(kind):
            if each.field not in left_out:
                name = f"{PREFIX}{scope}{each.name}"
                for labels, values in rows:
                    value = getattr(values, each.field)
                    if value is not None:
                        self._add(name, each.kind, each.text, labels, value)

    def add_parts(self, job: Labels, metrics: JobMetrics) -> None:
        """What the last checkpoint and the last micro-batch were made of."""
        parts = "Milliseconds of the last checkpoint, by part."
        for part, value in metrics.checkpoint_parts.items():
            name = f"{PREFIX}job_lastCheckpointPart"
            self._add(name, "gauge", parts, {**job, "part": part}, value)
        phases = "Milliseconds of the last micro-batch, by phase; some phases are within others."
        for phase, value in metrics.phases.items():
            name = f"{PREFIX}job_lastMicroBatchPhase"
            self._add(name, "gauge", phases, {**job, "phase": phase}, value)
        waits = "Servers that the job waits for."
        self._add(f"{PREFIX}job_waitingForServers", "gauge", waits, job, len(metrics.waiting))

    def add_user(self, labels: Labels, metrics: Mapping[str, Any]) -> None:
        """What functions count and measure themselves."""
        for name, value in metrics.items():
            shown = f"{PREFIX}operator_user_{_NOT_IN_NAMES.sub('_', name)}"
            text = f"The metric {name!r} of a function."
            if isinstance(value, (int, float)):
                self._add(shown, "gauge", text, labels, value)
            else:
                for part, number in msgspec.to_builtins(value).items():
                    self._add(f"{shown}_{part}", "gauge", text, labels, number)

    def _add(self, name: str, kind: str, text: str, labels: Labels, value: float) -> None:
        if name not in self._families:
            helped = text.replace("\\", "\\\\").replace("\n", "\\n")
            self._families[name] = [f"# HELP {name} {helped}", f"# TYPE {name} {kind}"]
        inside = ",".join(f'{key}="{_escaped(shown)}"' for key, shown in labels.items())
        self._families[name].append(f"{name}{{{inside}}} {value}")

    def text(self) -> str:
        """The page."""
        return "".join(f"{line}\n" for lines in self._families.values() for line in lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def endpoint_of(
    configuration: Configuration, metrics: Callable[[], JobMetrics]
) -> PrometheusEndpoint | None:
    """The endpoint that the configuration asks for, listening; None if it asks for none."""
    wanted = PROMETHEUS_PORT.read(configuration)
    if not wanted:
        return None
    host, token = PROMETHEUS_HOST.read(configuration), PROMETHEUS_TOKEN.read(configuration)
    if not token and not is_loopback(host):
        raise ConfigurationError(
            f"{PROMETHEUS_HOST.key} is {host!r}, which other machines can reach. Set "
            f"{PROMETHEUS_TOKEN.key} to a secret that Prometheus sends (authorization: credentials "
            f"in its scrape configuration), or leave {PROMETHEUS_HOST.key} at 127.0.0.1."
        )
    return PrometheusEndpoint(metrics, host, ports_of(PROMETHEUS_PORT.key, wanted), token)


class PrometheusEndpoint:
    """Answers ``GET /metrics``, from its making until it is closed."""

    def __init__(
        self, metrics: Callable[[], JobMetrics], host: str, ports: range, token: str = ""
    ) -> None:
        self._server = _listening(host, ports, _answering(metrics, token))
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="scurry-prometheus", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def close(self) -> None:
        """Answer no longer."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _listening(
    host: str, ports: range, handler: type[BaseHTTPRequestHandler]
) -> ThreadingHTTPServer:
    failure: OSError | None = None
    for port in ports:
        try:
            return (_SixServer if ":" in host else _Server)((host, port), handler)
        except OSError as refused:
            failure = refused
    shown = f"port {ports[0]}" if len(ports) == 1 else f"ports {ports[0]} to {ports[-1]}"
    raise ConfigurationError(
        f"The Prometheus endpoint cannot listen at {host}, {shown}: {failure}. Free the port, or "
        f"set {PROMETHEUS_PORT.key} to another one, or to a range such as 9250-9260."
    ) from failure


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # a port that another job listens at is not free
    allow_reuse_port = False


class _SixServer(_Server):
    address_family = socket.AF_INET6


def _answering(metrics: Callable[[], JobMetrics], token: str) -> type[BaseHTTPRequestHandler]:
    """The class of handlers that answer requests with ``metrics``, if they carry ``token``."""

    class Handler(BaseHTTPRequestHandler):
        server_version = f"scurry/{__version__}"
        sys_version = ""

        def do_GET(self) -> None:
            if self.path.partition("?")[0] not in ("/metrics", "/"):
                self._answer(404, "The metrics are at /metrics.\n")
            elif token and not self._is_known():
                self._answer(401, "This endpoint needs a token.\n", ("WWW-Authenticate", "Bearer"))
            else:
                self._answer(200, as_text(metrics()))

        def _is_known(self) -> bool:
            given = self.headers.get("Authorization", "")
            return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())

        def _answer(self, code: int, text: str, *headers: tuple[str, str]) -> None:
            content = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged: Prometheus sends one every few seconds."""

    return Handler
