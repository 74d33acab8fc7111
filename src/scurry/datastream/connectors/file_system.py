"""Files."""

from __future__ import annotations

from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.buckets import BucketAssigner
from scurry.connectors.files.compaction import FileCompactor, FileCompactStrategy
from scurry.connectors.files.formats import BulkFormat, FileDeadLetter, StreamFormat
from scurry.connectors.files.rolling import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from scurry.connectors.files.sink import FileSink, StreamingFileSink
from scurry.connectors.files.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
)
from scurry.functions.dead_letters import DEAD_LETTERS

__all__ = [
    "DEAD_LETTERS",
    "BucketAssigner",
    "BulkFormat",
    "BulkWriterFactory",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileDeadLetter",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
