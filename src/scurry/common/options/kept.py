"""Options that tune a part of Flink which Scurry does not have.

A program may set them and read them again; they change nothing.
"""

from __future__ import annotations

from scurry.common.options.option import Option

WATERMARK_INTERVAL: Option[int] = Option(
    "pipeline.auto-watermark-interval",
    "duration",
    200,
    "How often Flink asks watermark generators; here watermarks move with every record.",
    least=0,
    effective=False,
    setter="ExecutionConfig.set_auto_watermark_interval",
)
BUFFER_TIMEOUT: Option[int] = Option(
    "execution.buffer-timeout.interval",
    "duration",
    100,
    "How long Flink holds a buffer that is not full; here operators hand on whole batches.",
    older=("execution.buffer-timeout",),
    least=0,
    effective=False,
    setter="env.set_buffer_timeout",
)
BUFFER_TIMEOUT_ENABLED: Option[bool] = Option(
    "execution.buffer-timeout.enabled",
    "boolean",
    True,
    "Whether Flink sends buffers that are not full; here operators hand on whole batches.",
    effective=False,
)
LATENCY_INTERVAL: Option[int] = Option(
    "metrics.latency.interval",
    "duration",
    0,
    "How often Flink measures the latency between operators.",
    least=0,
    effective=False,
    setter="ExecutionConfig.set_latency_tracking_interval",
)
CANCELLATION_INTERVAL: Option[int] = Option(
    "task.cancellation.interval",
    "duration",
    30_000,
    "How often Flink tries to cancel a task; here Spark cancels tasks.",
    older=("task.cancellation-interval",),
    least=0,
    effective=False,
    setter="ExecutionConfig.set_task_cancellation_interval",
)
CANCELLATION_TIMEOUT: Option[int] = Option(
    "task.cancellation.timeout",
    "duration",
    180_000,
    "When Flink gives up on a task that does not stop; here Spark cancels tasks.",
    least=0,
    effective=False,
    setter="ExecutionConfig.set_task_cancellation_timeout",
)
GENERIC_TYPES: Option[bool] = Option(
    "pipeline.generic-types",
    "boolean",
    True,
    "Whether Flink lets elements of unknown type travel in Kryo's form; here they travel pickled.",
    effective=False,
    setter="ExecutionConfig.disable_generic_types",
)
GENERATED_UIDS: Option[bool] = Option(
    "pipeline.auto-generate-uids",
    "boolean",
    True,
    "Whether operators without a uid get one in Flink.",
    effective=False,
    setter="ExecutionConfig.disable_auto_generated_uids",
)
