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
PYTHON_CHAINING: Option[bool] = Option(
    "python.operator-chaining.enabled",
    "boolean",
    True,
    "Whether `get_execution_plan` shows neighbouring Python functions as one operator, as Flink "
    "runs them; how they run here is `pipeline.operator-chaining.enabled`.",
    effective=False,
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
CLOSURE_CLEANER: Option[str] = Option(
    "pipeline.closure-cleaner-level",
    "enum",
    "RECURSIVE",
    "How thoroughly Flink cleans Java closures; Python functions need none of it.",
    choices=("NONE", "TOP_LEVEL", "RECURSIVE"),
    setter="ExecutionConfig.disable_closure_cleaner",
    effective=False,
)
FORCE_KRYO: Option[bool] = Option(
    "pipeline.force-kryo",
    "boolean",
    False,
    "Whether Flink serialises all Java objects with Kryo; here values are Python's.",
    setter="ExecutionConfig.enable_force_kryo",
    effective=False,
)
FORCE_AVRO: Option[bool] = Option(
    "pipeline.force-avro",
    "boolean",
    False,
    "Whether Flink serialises Java objects with Avro; here values are Python's.",
    setter="ExecutionConfig.enable_force_avro",
    effective=False,
)
JARS: Option[tuple[str, ...]] = Option(
    "pipeline.jars",
    "list",
    (),
    "Java archives that Flink sends to its workers; Scurry runs no Java code of yours, and its "
    "connectors need none. Archives for Spark go into `spark.jars`.",
    setter="env.add_jars",
    effective=False,
)
CLASSPATHS: Option[tuple[str, ...]] = Option(
    "pipeline.classpaths",
    "list",
    (),
    "Places where Flink's workers look for Java classes; Scurry runs no Java code of yours.",
    setter="env.add_classpaths",
    effective=False,
)
CACHED_FILES: Option[str] = Option(
    "pipeline.cached-files",
    "string",
    "",
    "Files that Flink hands to Java functions; what workers shall find is named with "
    "`env.add_python_file` and `env.add_python_archive`.",
    setter="env.register_cached_file",
    effective=False,
)
