"""A sink to look into."""

from __future__ import annotations

from typing import Any

from scurry.connectors.memory import DriverSink


class ListSink(DriverSink):
    """Keeps every record in ``values``, in the order in which the driver received them."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"values": []}

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        self.values.extend(rows)
