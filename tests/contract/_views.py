"""A job in this process whose states are queryable, and its view, read by another process.

LMDB may be open once in a process, so whoever reads a view is not where it is written.
"""

from __future__ import annotations

import functools
import multiprocessing
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scurry.common import Configuration
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.queryable.settings import QuerySettings
from scurry.queryable.errors import QueryError
from scurry.queryable.queries import Queries
from scurry.testing.local import LocalJob


def _answer(connection: Any) -> None:
    known: dict[str, Queries] = {}
    while (asked := connection.recv()) is not None:
        directory, method, arguments = asked
        if directory not in known:
            known.clear()
            known[directory] = Queries(Path(directory))
        try:
            connection.send((True, getattr(known[directory], method)(*arguments)))
        except QueryError as refused:
            told = (refused.status, refused.code, refused.message), refused.more
            connection.send((False, told))


@functools.cache
def _reader() -> Any:
    """A process that answers queries, for all tests of this process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_answer, args=(theirs,), daemon=True)
    process.start()
    return ours


class RemoteQueries:
    """Has :class:`Queries` answer in another process."""

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)

    def __getattr__(self, method: str) -> Any:
        def ask(*arguments: Any) -> Any:
            connection = _reader()
            connection.send((self._directory, method, arguments))
            fine, told = connection.recv()
            if fine:
                return told
            (arguments, more) = told
            raise QueryError(*arguments, **more)

        return ask


class Viewed:
    """A job, what keeps its view, and queries about it."""

    def __init__(self, job: LocalJob, keeper: ViewKeeper) -> None:
        self.job, self.keeper = job, keeper
        self._queries = RemoteQueries(keeper.directory)

    @property
    def queries(self) -> RemoteQueries:
        self.keeper.settle()
        return self._queries

    @property
    def committed(self) -> int:
        """The last committed micro-batch."""
        epoch = self.job.checkpoint.last_epoch()
        return -1 if epoch is None else epoch.batch

    def compute_only(self, records: int) -> bool:
        """Run a micro-batch up to the moment at which only the engine has to commit it."""
        if not self.job.plan_step(records):
            return False
        self.job._protocol.finish_batch(self.job.batch, self.job._execute())
        return True


def environment(parallelism: int, **settings: Any) -> StreamExecutionEnvironment:
    conf = Configuration()
    for name, value in settings.items():
        conf.set_string(name, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(parallelism)
    return env


@contextmanager
def viewed(
    env: StreamExecutionEnvironment,
    root: Path,
    settings: QuerySettings | None = None,
    make: Callable[..., LocalJob] = LocalJob,
) -> Iterator[Viewed]:
    """The program of ``env`` as a job; with ``settings`` queries are answered over HTTP."""
    compiled = env._compile(None)
    keeper = ViewKeeper(root, compiled.spec, "job-1", uuid.uuid4().hex, settings)
    keeper.start()
    try:
        with make(compiled, views=keeper) as job:
            yield Viewed(job, keeper)
    finally:
        keeper.close("finished", linger=False)
        env.close()
