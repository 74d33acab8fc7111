"""The driver's half of a file sink: what was written becomes visible, once.

All that is not finished lies in a hidden directory below the sink's path. There the workers of each
run have a directory of their own for segments, which get random names, and each sink of each job
has one for its *manifest*: the mark of the last batch that counts, the segments that wait to become
part files, and the part files to publish (:mod:`scurry.connectors.files.manifest`).

A commit prepares the part files that are due, still hidden; then replaces the manifest, which is
the moment at which the batch counts; then gives the part files their names. Whatever happens
between, the next start reads the manifest and does the last step again, and doing it twice changes
nothing. Segments the manifest does not know, left by tasks that failed, are deleted; tasks of an
earlier run that come too late find their directory gone.

A driver that was taken for dead, and wakes up, cannot replace the manifest any more: the one that
took over has written a newer one when it started. What the sleeper has prepared stays hidden, and
what it could still be about to publish or to delete is what its last manifest says, which the other
has done as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from itertools import repeat
from pathlib import Path

from scurry.common.errors import JobError
from scurry.common.fault_points import fault_point
from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.manifest import BatchName, ManifestFile, Part, Pending, Superseded
from scurry.connectors.files.rolling import OutputFileConfig, RollingPolicy
from scurry.connectors.files.truncation import Withdrawal, check_reach, drop_pending, pieces_of
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext

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
        self._history = context.history
        self._lease = context.lease
        #: whether the job has begun to write: until then it may be refused, and nothing is changed
        self._writing = False
        self._lock = threading.Lock()
        name = f"{context.checkpoint_id}/{context.uid}".encode()
        self._place = self._root / hashlib.sha256(name).hexdigest()[:12]
        self._place.mkdir(parents=True, exist_ok=True)
        self._run = run
        (self._root / run).mkdir(exist_ok=True)
        self._file = ManifestFile(self._place)
        self._manifest = self._file.load()

    @property
    def mark(self) -> Mark | None:
        """The mark of the last batch that counts."""
        return self._manifest.mark

    def truncate(self) -> None:
        """Take back all batches that the history does not hold."""
        with self._lock:
            check_reach(self._manifest, self._history, self._base)
            self._enter()
            manifest, history = self._manifest, self._history
            self._publish()
            taken = Withdrawal(self._factory, history, self._base)
            taken.examine(self._file.parts(manifest), self._root, self._run)
            drop_pending(manifest.pending, history, self._root)
            awaited = (history.planned, history.token(history.planned))
            found = any(awaited in held.origins for held in manifest.pending.values())
            last = history.planned if found or taken.pending_found else history.last
            manifest.withdraw, manifest.publish = taken.gone, taken.cut
            self._count(history.mark(last))
            self._settle()

    def accept(self, mark: Mark) -> None:
        """Let everything stay, and go on as if ``mark`` were the last batch."""
        with self._lock:
            self._enter()
            self._publish()
            for held in self._manifest.pending.values():
                held.origins = [(mark.batch, mark.branch)] * len(held.segments)
            self._count(mark)
            self._file.forget_parts(self._manifest, (mark.batch, mark.branch))

    def _count(self, mark: Mark) -> None:
        manifest = self._manifest
        manifest.batch, manifest.branch = mark.batch, mark.branch
        manifest.changed = int(self._clock() * 1000)

    def _save(self) -> None:
        self._file.save(self._manifest)

    def _settle(self) -> None:
        """Let the manifest count, then do what it says."""
        self._save()
        if self._manifest.publish or self._manifest.withdraw:
            fault_point("file-manifest")
        self._publish()

    def _enter(self) -> None:
        """Keep out drivers with an older lease: from now on they cannot replace the manifest."""
        while True:
            self._lease.enter(self._manifest.lease)
            self._manifest.lease = self._lease.epoch
            self._manifest.runs = [*dict.fromkeys([*self._manifest.runs, self._run])]
            try:
                self._save()
                return
            except Superseded:
                # the driver before was quicker; what it has counted is taken over, too
                self._manifest = self._file.load()

    def recover(self) -> None:
        """Finish what was begun, delete what nobody needs."""
        with self._lock:
            self._writing = True
            self._enter()
            self._publish()
            manifest = self._manifest
            known = {name for held in manifest.pending.values() for name in held.segments}
            for run in manifest.runs:
                if not self._clean(self._root / run, known):
                    shutil.rmtree(self._root / run, ignore_errors=True)
            self._clean_place(known)
            (self._root / self._run).mkdir(exist_ok=True)
            # those that are gone are left out when the manifest is written next
            manifest.runs = [run for run in manifest.runs if (self._root / run).exists()]

    def _clean(self, directory: Path, known: set[str]) -> int:
        """Delete what is not known; how many files are left."""
        left = 0
        for path in directory.iterdir() if directory.exists() else ():
            if f"{directory.name}/{path.name}" in known:
                left += 1
            else:
                path.unlink(missing_ok=True)
        return left

    def _clean_place(self, known: set[str]) -> None:
        """Delete what earlier versions of Scurry have left beside the manifest. Nothing else: a
        later driver may have just begun to write there."""
        for kind in ("joined", "cut", "draft"):
            for path in self._place.glob(f"{kind}-*"):
                if f"{self._place.name}/{path.name}" not in known:
                    path.unlink(missing_ok=True)

    def commit(self, batch: int, segments: list[Segment]) -> None:
        """Let the segments of ``batch`` count, unless they do already."""
        with self._lock:
            self._writing = True
            if self._file.changed:
                self._manifest = self._file.load()
            self._lease.admit(self._manifest.lease)
            try:
                self._commit(batch, segments)
            except Superseded:
                self._lease.admit(self._file.load().lease)
                raise JobError(
                    f"FileSink: somebody else has written the manifest in {str(self._place)!r} "
                    "meanwhile. Run each job once."
                ) from None

    def _commit(self, batch: int, segments: list[Segment]) -> None:
        pending = self._manifest.pending.values()
        if self._history.repeats(batch, self._manifest.mark):
            self._publish()
            return
        mark = self._history.mark(batch)
        now = int(self._clock() * 1000)
        if not segments and not any(map(self._due, pending, repeat(now), repeat(batch))):
            return
        for bucket, name, size in segments:
            fresh = Pending(created=now, batch=batch)
            held = self._manifest.pending.setdefault(bucket, fresh)
            held.segments.append(name)
            held.origins.append((mark.batch, mark.branch))
            held.size += size
            held.changed = now
        self._count(mark)
        self._roll(now, final=False)

    def roll(self, final: bool = False) -> None:
        """Publish what is due by now, or with ``final`` everything."""
        with self._lock:
            now = int(self._clock() * 1000)
            pending, batch = self._manifest.pending.values(), self._manifest.batch
            due = final or any(map(self._due, pending, repeat(now), repeat(batch)))
            if self._writing and pending and due and not self._file.changed:
                # if another driver has taken over just now, it publishes what is due
                with suppress(Superseded):
                    self._roll(now, final)

    def close(self) -> None:
        """Publish everything: the job has ended. If another run has taken over, what this one has
        written is the other's by now."""
        self.roll(final=True)
        with self._lock:
            # a driver that takes over from here on finds nothing in the manifest that waits
            if self._writing and (self._file.changed or self._manifest.pending):
                return
            shutil.rmtree(self._root / self._run, ignore_errors=True)

    def _due(self, held: Pending, now: int, batch: int) -> bool:
        passed = batch - held.batch + 1
        # times still to come are of a clock that was ahead
        held.created, held.changed = min(held.created, now), min(held.changed, now)
        return self._policy.is_due(held.size, held.created, held.changed, now, passed)

    def _roll(self, now: int, final: bool) -> None:
        manifest = self._manifest
        joined: list[str] = []
        manifest.publish, manifest.withdraw = [], []
        for bucket, held in list(manifest.pending.items()):
            if not final and not self._due(held, now, manifest.batch):
                continue
            del manifest.pending[bucket]
            groups = [(held.segments, held.origins)]
            if len(held.segments) > 1 and not self._joins:
                pairs = zip(held.segments, held.origins, strict=True)
                groups = [([segment], [origin]) for segment, origin in pairs]
            for segments, origins in groups:
                manifest.publish.append(self._prepare(bucket, segments, origins))
                joined += segments if len(segments) > 1 else []
        self._settle()
        for name in joined:
            (self._root / name).unlink(missing_ok=True)

    def _prepare(
        self, bucket: str, segments: list[str], origins: list[BatchName]
    ) -> tuple[str, str]:
        """A hidden file with the content of ``segments``, and the name it is to get."""
        hidden = segments[0]
        if len(segments) > 1:
            hidden = f"{self._run}/joined-{uuid.uuid4().hex}"
            target = self._root / hidden
            self._factory.join([self._root / name for name in segments], target)
            with target.open("rb") as file:
                os.fsync(file.fileno())
        names, number = self._names, self._manifest.number
        self._manifest.number += 1
        suffix = names.part_suffix or self._factory.suffix
        name = f"{names.part_prefix}-{self._place.name}-{number:06d}{suffix}"
        name = f"{bucket}/{name}" if bucket else name
        pieces = pieces_of(self._factory, [self._root / each for each in segments], origins)
        self._manifest.parts.append(Part(name, pieces))
        return hidden, name

    def _publish(self) -> None:
        for name in self._manifest.withdraw:
            (self._base / name).unlink(missing_ok=True)
        for hidden, name in self._manifest.publish:
            source, target = self._root / hidden, self._base / name
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                # unless the driver before has just done it
                with suppress(FileNotFoundError):
                    source.rename(target)
