"""Keys that Flink 2.3 knows, and those of Flink 1 that programs still carry, beside the options.

Scurry does not read them. They are here so that a program which sets them is told that they have no
effect, and so that a key which is none of them can be recognised as misspelt. The list covers the
namespaces in which Scurry has options, and that of tables.
"""

from __future__ import annotations

#: Keys by what they begin with.
_KEYS = {
    "execution.": """
        allow-client-job-configurations async-state.active-buffer-size
        async-state.active-buffer-timeout async-state.total-buffer-size attached
        batch-shuffle-mode batch-state-backend.enabled embedded-rpc-cluster.enabled job-listeners
        job-status-changed-listeners program-config.enabled program-config.wildcards
        savepoint-restore-mode shutdown-on-application-finish
        shutdown-on-attached-exit sort-keyed-partition.memory sort-partition.memory
        sorted-inputs.enabled sorted-inputs.memory submit-failed-job-on-application-error target
        terminate-application-on-any-job-terminated-exceptionally
    """,
    "execution.batch.": """
        adaptive.auto-parallelism.avg-data-volume-per-task
        adaptive.auto-parallelism.default-source-parallelism adaptive.auto-parallelism.enabled
        adaptive.auto-parallelism.max-parallelism adaptive.auto-parallelism.min-parallelism
        job-recovery.enabled job-recovery.previous-worker.recovery.timeout
        job-recovery.snapshot.min-pause speculative.block-slow-node-duration speculative.enabled
        speculative.max-concurrent-executions
    """,
    "execution.checkpointing.": """
        approximate-local-recovery checkpoints-after-tasks-finish
        checkpoints-after-tasks-finish.enabled cleaner.parallel-mode create-subdir
        data-inline-threshold during-recovery.enabled file-merging.across-checkpoint-boundary
        file-merging.enabled file-merging.max-file-size file-merging.max-space-amplification
        file-merging.max-subtasks-per-file file-merging.pool-blocking force-unaligned incremental
        interval-during-backlog local-backup.dirs local-backup.enabled num-retained
        prefer-checkpoint-for-recovery recover-without-channel-state.checkpoint-id storage
        unaligned.interruptible-timers.enabled unaligned.max-subtasks-per-channel-state-file
        unaligned.recover-output-on-downstream.enabled write-buffer-size
    """,
    "execution.state-recovery.": """
        approximate-local-recovery claim-mode from-local without-channel-state.checkpoint-id
    """,
    "pipeline.": """
        cep.sharedbuffer.cache.entry-slots cep.sharedbuffer.cache.event-slots
        cep.sharedbuffer.cache.statistics-interval default-kryo-serializers force-kryo-avro
        jobvertex-parallelism-overrides
        operator-chaining.chain-operators-with-different-max-parallelism registered-kryo-types
        registered-pojo-types registered-types serialization-config
        sources.pause-until-first-checkpoint time-characteristic vertex-description-mode
        vertex-name-include-index-prefix watermark-alignment.allow-unaligned-source-splits
        watermark-alignment.buffer-size
    """,
    "python.": """
        client.executable execution-mode job-options logging.default.level logging.level.overrides
        loopback-server.address map-state.iterate-response-batch-size map-state.read-cache-size
        map-state.write-cache-size metric.enabled profile.enabled
        pythonpath state.cache-size systemenv.enabled
    """,
    "python.fn-execution.": """
        arrow.batch.size buffer.memory.size bundle.size bundle.time framework.memory.size
        memory.managed streaming.enabled
    """,
    "state.": """
        checkpoint-storage checkpoint.cleaner.parallel-mode checkpoints.create-subdir
        checkpoints.num-retained latency-track.history-size latency-track.keyed-state-enabled
        latency-track.sample-interval latency-track.state-name-as-variable size-track.history-size
        size-track.keyed-state-enabled size-track.sample-interval
        size-track.state-name-as-variable storage.fs.memory-threshold storage.fs.write-buffer-size
    """,
    "state.backend.": """
        async fs.memory-threshold fs.write-buffer-size heap-timer-service.factory incremental
        latency-track.history-size latency-track.keyed-state-enabled latency-track.sample-interval
        latency-track.state-name-as-variable local-recovery
    """,
    "state.backend.changelog.": """
        max-failures-allowed periodic-materialize.enabled periodic-materialize.interval storage
    """,
    "state.changelog.": """
        dstl.dfs.base-path dstl.dfs.batch.persist-delay dstl.dfs.batch.persist-size-threshold
        dstl.dfs.compression.enabled dstl.dfs.discard.num-threads
        dstl.dfs.download.local-cache.idle-timeout-ms dstl.dfs.preemptive-persist-threshold
        dstl.dfs.upload.buffer-size dstl.dfs.upload.max-attempts dstl.dfs.upload.max-in-flight
        dstl.dfs.upload.next-attempt-delay dstl.dfs.upload.num-threads
        dstl.dfs.upload.retry-policy dstl.dfs.upload.timeout max-failures-allowed
        periodic-materialize.enabled periodic-materialize.interval storage
    """,
    "table.": """
        catalog-modification.listeners catalog-store.kind column-expansion-strategy
        dynamic-table-options.enabled generated-code.max-members include
        legacy-nested-row-nullability plan.compile.catalog-objects plan.force-recompile
        plan.restore.catalog-objects planner resources.download-dir rtas-ctas.atomicity-enabled
        secret-store.kind
    """,
    "table.exec.": """
        async-lookup.key-ordered-enabled
        async-ml-predict.max-concurrent-operations async-ml-predict.output-mode
        async-ml-predict.timeout async-scalar.buffer-capacity async-state.enabled
        async-table.max-concurrent-operations
        async-table.max-retries async-table.retry-delay async-table.retry-strategy
        async-table.timeout async-vector-search.max-concurrent-operations
        async-vector-search.output-mode async-vector-search.timeout
        deduplicate.insert-update-after-sensitive-enabled
        deduplicate.mini-batch.compact-changes-enabled delta-join.cache-enabled
        delta-join.left.cache-size delta-join.right.cache-size disabled-operators
        interval-join.min-cleanup-interval legacy-cast-behaviour legacy-transformation-uids
        local-hash-agg.adaptive.distinct-value-rate-threshold local-hash-agg.adaptive.enabled
        local-hash-agg.adaptive.sampling-threshold
        operator-fusion-codegen.enabled rank.topn-cache-size resource.external-buffer-memory
        resource.hash-agg.memory resource.hash-join.memory resource.sort.memory shuffle-mode
        simplify-operator-name-enabled sink.keyed-shuffle sink.nested-constraint-enforcer
        sink.require-on-conflict sink.rowtime-inserter sink.type-length-enforcer
        sink.upsert-materialize-strategy.adaptive.threshold.high
        sink.upsert-materialize-strategy.adaptive.threshold.low
        sink.upsert-materialize-strategy.type sort.async-merge-enabled sort.default-limit
        sort.max-num-file-handles spill-compression.block-size
        spill-compression.enabled uid.format uid.generation unbounded-over.version
        window-agg.buffer-size-limit
    """,
    "table.optimizer.": """
        adaptive-broadcast-join.strategy bushy-join-reorder-threshold
        delta-join.strategy distinct-agg.split.bucket-num
        dynamic-filtering.enabled incremental-agg-enabled join-reorder-enabled
        join.broadcast-threshold multi-join.enabled multiple-input-enabled
        non-deterministic-update.strategy ptf.max-tables reuse-optimize-block-with-digest-enabled
        reuse-sink-enabled reuse-source-enabled reuse-sub-plan-enabled runtime-filter.enabled
        runtime-filter.max-build-data-size runtime-filter.min-filter-ratio
        runtime-filter.min-probe-data-size skewed-join-optimization.skewed-factor
        skewed-join-optimization.skewed-threshold skewed-join-optimization.strategy
        source.predicate-pushdown-enabled source.report-statistics-enabled
        sql2rel.project-merge.enabled union-all-as-breakpoint-enabled
    """,
    "task.": """
        cancellation.timers.timeout
    """,
}

#: Every key of the list in full.
FLINK_KEYS = frozenset(prefix + name for prefix, names in _KEYS.items() for name in names.split())

#: What families of keys begin with, of which Flink knows many or users make up the rest.
FAMILIES = (
    "blob.",
    "classloader.",
    "dstl.",
    "external-resource",
    "high-availability",
    "historyserver.",
    "jobmanager.",
    "jobstore.",
    "kubernetes.",
    "metrics.",
    "pekko.",
    "queryable-state.",
    "resourcemanager.",
    "rest.",
    "slotmanager.",
    "slow-task-detector.",
    "sql-gateway.",
    "state.backend.forst.",
    "state.backend.rocksdb.",
    "taskmanager.",
    "yarn.",
)
