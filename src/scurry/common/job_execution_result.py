"""What is known of a job once it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scurry.common.job_id import JobID

__all__ = ["JobExecutionResult"]


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """Identity, running time and counters of a job that has ended."""

    job_id: JobID
    net_runtime_ms: int
    accumulators: Mapping[str, Any] = field(default_factory=dict)

    def get_job_id(self) -> JobID:
        """The job's identity."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Milliseconds from the start to the end of the job."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The final value of a counter, or None if there is none of that name."""
        return self.accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The final values of all counters."""
        return dict(self.accumulators)

    def __str__(self) -> str:
        return f"Job {self.job_id} ended after {self.net_runtime_ms} ms"
