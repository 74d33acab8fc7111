"""The driver's half of a file sink: what was written becomes visible, once.

All that is not finished lies in a hidden directory below the sink's path. There the workers of each
run have a directory of their own for segments, which get random names, and each sink of each job
has one for its *manifest*: the last batch that counts, the segments that wait to become part files,
and the part files to publish.

A commit prepares the part files that are due, still hidden; then replaces the manifest, which is
the moment at which the batch counts; then gives the part files their names. Whatever happens
between, the next start reads the manifest and does the last step again, and doing it twice changes
nothing. Segments the manifest does not know, left by tasks that failed, are deleted; tasks of an
earlier run that come too late find their directory gone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import msgspec

from scurry.common.errors import StateError
from scurry.common.fault_points import fault_point
from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.rolling import OutputFileConfig, RollingPolicy
from scurry.functions.sink import CommitterContext


class Pending(msgspec.Struct):
    """The segments of a bucket that are not in a part file yet."""

    segments: list[str] = []
    size: int = 0
    created: int = 0
    changed: int = 0
    #: the first micro-batch they hold records of
    batch: int = 0


class Manifest(msgspec.Struct):
    """What a file sink remembers."""

    batch: int = -1
    #: number of the next part file
    number: int = 0
    pending: dict[str, Pending] = {}
    #: hidden file, and the part file that it is to become
    publish: list[tuple[str, str]] = []
    #: the directories of runs that may hold segments
    runs: list[str] = []
    version: int = 1


#: What a writer tells the committer: bucket, name of the segment, its size.
Segment = tuple[str, str, int]


def hidden_root(base: Path) -> Path:
    """Where all sinks below ``base`` keep what readers must not see yet."""
    return base / ".scurry"


class FileCommitter:
    """Publishes what writers have put into the staging directory."""

    def __init__(
        self,
        base: Path,
        context: CommitterContext,
        factory: BulkWriterFactory,
        policy: RollingPolicy,
        names: OutputFileConfig,
        run: str,
        joins: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._base = base
        self._root = hidden_root(base)
        self._factory = factory
        self._policy = policy
        self._names = names
        self._joins = joins and policy.part_size != 0
        self._clock = clock
        self._lock = threading.Lock()
        name = f"{context.checkpoint_id}/{context.uid}".encode()
        self._place = self._root / hashlib.sha256(name).hexdigest()[:12]
        self._place.mkdir(parents=True, exist_ok=True)
        self._run = run
        (self._root / run).mkdir(exist_ok=True)
        self._manifest = self._load()

    def recover(self) -> None:
        """Finish what was begun, delete what nobody needs."""
        with self._lock:
            self._publish()
            manifest = self._manifest
            known = {name for held in manifest.pending.values() for name in held.segments}
            for run in manifest.runs:
                if not self._clean(self._root / run, known):
                    shutil.rmtree(self._root / run, ignore_errors=True)
            self._clean(self._place, known | {f"{self._place.name}/manifest"})
            kept = [run for run in manifest.runs if (self._root / run).exists()]
            manifest.runs = [*dict.fromkeys([*kept, self._run])]
            (self._root / self._run).mkdir(exist_ok=True)
            self._save()

    def _clean(self, directory: Path, known: set[str]) -> int:
        """Delete what is not known; how many files are left."""
        left = 0
        for path in directory.iterdir() if directory.exists() else ():
            if f"{directory.name}/{path.name}" in known:
                left += 1
            else:
                path.unlink(missing_ok=True)
        return left

    def commit(self, batch: int, segments: list[Segment]) -> None:
        """Let the segments of ``batch`` count, unless they do already."""
        with self._lock:
            pending = self._manifest.pending.values()
            if batch <= self._manifest.batch:
                self._publish()
                return
            now = int(self._clock() * 1000)
            if not segments and not any(map(self._due, pending, repeat(now), repeat(batch))):
                return
            for bucket, name, size in segments:
                fresh = Pending(created=now, batch=batch)
                held = self._manifest.pending.setdefault(bucket, fresh)
                held.segments.append(name)
                held.size += size
                held.changed = now
            self._manifest.batch = batch
            self._roll(now, final=False)

    def roll(self, final: bool = False) -> None:
        """Publish what is due by now, or with ``final`` everything."""
        with self._lock:
            now = int(self._clock() * 1000)
            pending, batch = self._manifest.pending.values(), self._manifest.batch
            if pending and (final or any(map(self._due, pending, repeat(now), repeat(batch)))):
                self._roll(now, final)

    def close(self) -> None:
        """Publish everything: the job has ended."""
        self.roll(final=True)
        with self._lock:
            shutil.rmtree(self._root / self._run, ignore_errors=True)

    def _due(self, held: Pending, now: int, batch: int) -> bool:
        passed = batch - held.batch + 1
        # times still to come are of a clock that was ahead
        held.created, held.changed = min(held.created, now), min(held.changed, now)
        return self._policy.is_due(held.size, held.created, held.changed, now, passed)

    def _roll(self, now: int, final: bool) -> None:
        manifest = self._manifest
        joined: list[str] = []
        manifest.publish = []
        for bucket, held in list(manifest.pending.items()):
            if not final and not self._due(held, now, manifest.batch):
                continue
            del manifest.pending[bucket]
            batches = [held.segments]
            if len(held.segments) > 1 and not self._joins:
                batches = [[segment] for segment in held.segments]
            for segments in batches:
                manifest.publish.append(self._prepare(bucket, segments))
                joined += segments if len(segments) > 1 else []
        self._save()
        if manifest.publish:
            fault_point("file-manifest")
        self._publish()
        for name in joined:
            (self._root / name).unlink(missing_ok=True)

    def _prepare(self, bucket: str, segments: list[str]) -> tuple[str, str]:
        """A hidden file with the content of ``segments``, and the name it is to get."""
        hidden = segments[0]
        if len(segments) > 1:
            hidden = f"{self._place.name}/joined-{uuid.uuid4().hex}"
            target = self._root / hidden
            self._factory.join([self._root / name for name in segments], target)
            with target.open("rb") as file:
                os.fsync(file.fileno())
        names, number = self._names, self._manifest.number
        self._manifest.number += 1
        suffix = names.part_suffix or self._factory.suffix
        name = f"{names.part_prefix}-{self._place.name}-{number:06d}{suffix}"
        return hidden, f"{bucket}/{name}" if bucket else name

    def _publish(self) -> None:
        for hidden, name in self._manifest.publish:
            source, target = self._root / hidden, self._base / name
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)

    def _load(self) -> Manifest:
        path = self._place / "manifest"
        if not path.exists():
            return Manifest()
        try:
            return msgspec.json.decode(path.read_bytes(), type=Manifest)
        except msgspec.DecodeError as failure:
            raise StateError(
                f"{path} is damaged ({failure}), so it is not known what the file sink has "
                "written. Restore it, or start the job anew with another checkpoint directory."
            ) from failure

    def _save(self) -> None:
        draft = self._place / f"manifest-{uuid.uuid4().hex}"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(self._manifest))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(self._place / "manifest")
