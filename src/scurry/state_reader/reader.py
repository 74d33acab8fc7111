"""Reading the state of a job as data, without the job."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import pyarrow as pa

from scurry.checkpoint.at_rest import CheckpointAtRest, at_rest, located
from scurry.common.errors import StateError
from scurry.engine.spark.session import obtain_session
from scurry.engine.spark.stored_journals import stored_journals
from scurry.state.inventory import BROADCAST_STATE, WINDOWS, OperatorRecord
from scurry.state.operator_state import Encoded
from scurry.state.rescaling import Place
from scurry.state_reader import contents
from scurry.state_reader.columns import Fallback
from scurry.state_reader.contents import Journals
from scurry.state_reader.diffs import difference
from scurry.state_reader.missing import no_such_state, operator_of

_LISTED = pa.schema(
    [
        ("uid", pa.string()),
        ("operator", pa.string()),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("type", pa.string()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
    ]
)


class SavepointReader:
    """Reads the states of a savepoint, or of a checkpoint as of its last committed micro-batch.

    The job need not run, and may: a reader shows the same moment for as long as it is open. Spark
    is needed to open its state stores; the reader takes ``session``, the active one, or makes one.
    ``fallback`` says what becomes of values that have no type of Arrow in common: texts in
    ``"json"``, or as Python writes them, ``"repr"``.

    >>> with SavepointReader("savepoints/before-upgrade") as reader:
    ...     counts = reader.read("count", "count").to_pandas()
    """

    def __init__(self, location: str, session: Any = None, fallback: Fallback = "json") -> None:
        if fallback not in ("json", "repr"):
            raise StateError(f"fallback is 'json' or 'repr', got {fallback!r}.")
        self._location = str(location)
        self._session = session
        self._fallback = fallback
        self._found: CheckpointAtRest | None = at_rest(self._location)
        self._journals: dict[int, Journals] = {}

    def __enter__(self) -> SavepointReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was copied for reading."""
        self._journals.clear()
        if self._found is not None:
            self._found.close()

    def read(self, uid: str, name: str) -> pa.Table:
        """The state ``name`` of the operator ``uid``: a row for each key, in an order that depends
        on the keys alone. Of a broadcast state, a row for each of its entries; of an operator of
        SQL, one of its tables."""
        record = self._operator(uid)
        journals = self._journals_of(record)
        if name in record.forms:
            return self._relation(record, uid, name)
        if record.states.get(name) == BROADCAST_STATE:
            return contents.read_broadcast(journals, uid, name, self._fallback)
        found = contents.read_state(journals, uid, name, self._fallback)
        if found is None:
            broadcast = [each for each, kind in record.states.items() if kind == BROADCAST_STATE]
            known = [*contents.states_of(journals, uid), *broadcast, *record.forms]
            raise StateError(no_such_state(record, uid, name, known))
        return found

    def comparable(self, uid: str, name: str) -> pa.Table:
        """The state as two columns, keys and what they have, for :func:`diff`."""
        found, record = self.read(uid, name), self._operator(uid)
        if name not in record.forms:
            return found
        from scurry.state_reader.relations import comparable

        return comparable(found, record.forms[name])

    def _relation(self, record: OperatorRecord, uid: str, name: str) -> pa.Table:
        # what reads these takes long to import, and most jobs have none
        from scurry.state_reader.relations import read_relation

        assert self._found is not None
        journals = [each for _, each in sorted(self._journals_of(record).items())]
        form, groups = record.forms[name], self._found.max_parallelism
        return read_relation(journals, uid, form, groups, self._fallback)

    def read_list_state(self, uid: str, name: str) -> pa.Table:
        """The operator state ``name`` of the operator ``uid``, which belongs to no key: a row for
        each element of a list (``value``), or each entry of a map (``key`` and ``value``), with the
        number of the instance that has it (``subtask``). A union list is read as its instances
        have left it, each its own part."""
        record = self._operator(uid)
        held = dict(self._instances(record, uid))
        known = sorted({each for states in held.values() for each in states})
        if name not in known:
            raise StateError(no_such_state(record, uid, name, known))
        found = [(place.slot, states[name]) for place, states in held.items() if name in states]
        return contents.read_list_state(found, uid, name, self._fallback)

    def _instances(self, record: OperatorRecord, uid: str) -> Iterator[tuple[Place, Encoded]]:
        """The operator states of the instances of an operator: those in stages lie in the slots,
        those of the ingress, and all union lists, in the epoch."""
        assert self._found is not None
        operators = self._found.epoch.operators
        made = dict(contents.operator_states_of(self._journals_of(record), uid))
        for told in (operators.states.get(uid, {}), operators.unions.get(uid, {})):
            for text, states in told.items():
                place = Place(*map(int, text.split(":")))
                made[place] = {**made.get(place, {}), **states}
        yield from sorted(made.items())

    def read_timers(self, uid: str) -> pa.Table:
        """The timers of the operator ``uid`` that have not fired yet: key, time in milliseconds
        since 1970, domain (``event`` or ``processing``), and the window that they belong to."""
        return contents.read_timers(self._journals_of(self._operator(uid)), uid, self._fallback)

    def read_windows(self, uid: str) -> pa.Table:
        """The windows of the operator ``uid`` that hold something: key, window (start and end in
        milliseconds since 1970), and the elements, or the value they were combined into."""
        record = self._operator(uid)
        if WINDOWS in record.forms:
            return self._relation(record, uid, WINDOWS)
        journals = self._journals_of(record)
        assert self._found is not None
        groups = self._found.max_parallelism
        return contents.read_windows(journals, uid, record.layout, groups, self._fallback)

    def list_states(self) -> pa.Table:
        """All states, with kind, type, and how many records and bytes they have."""
        found = self._found
        rows = []
        for uid, record in ({} if found is None else found.epoch.inventory).items():
            known = contents.states_of(self._journals_of(record), uid) if record.states else {}
            for name in record.states:
                typed = contents.type_in_words(known[name]) if name in known else None
                rows.append(
                    (uid, record.name, name, _kind(record, name), typed, *_size(record, name))
                )
        return _listed(rows)

    def _operator(self, uid: str) -> OperatorRecord:
        if self._found is None:
            raise StateError(
                f"There is no state in {self._location}: the job has committed nothing yet."
            )
        return operator_of(self._found.epoch, uid, self._found.root)

    def _journals_of(self, record: OperatorRecord) -> Journals:
        assert self._found is not None
        wanted = {stage for stage in record.stages if stage > 0}
        missing = wanted - self._journals.keys()
        if missing:
            found = stored_journals(self._found, missing, self._session)
            for stage in missing:
                self._journals[stage] = {p: j for p, j in found.items() if p.stage == stage}
        return {
            place: journal for stage in wanted for place, journal in self._journals[stage].items()
        }


def _kind(record: OperatorRecord, name: str) -> str:
    """What kind of state it is; of an operator of SQL, a table."""
    return record.states[name] or ("Table" if name in record.forms else "")


def _size(record: OperatorRecord, name: str) -> tuple[int | None, int | None]:
    """Its records and bytes, as far as they are known."""
    return record.sizes.get(name, (None, None))


def _listed(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(_LISTED)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, _LISTED, strict=True)], schema=_LISTED
    )


def read(
    location: str,
    uid: str,
    name: str,
    *,
    session: Any = None,
    fallback: Fallback = "json",
) -> pa.Table:
    """The state ``name`` of the operator ``uid`` in a savepoint or checkpoint, see
    :meth:`SavepointReader.read`."""
    with SavepointReader(location, session, fallback) as reader:
        return reader.read(uid, name)


def read_list_state(
    location: str, uid: str, name: str, *, session: Any = None, fallback: Fallback = "json"
) -> pa.Table:
    """The operator state ``name`` of the operator ``uid`` in a savepoint or checkpoint, see
    :meth:`SavepointReader.read_list_state`."""
    with SavepointReader(location, session, fallback) as reader:
        return reader.read_list_state(uid, name)


def read_timers(
    location: str, uid: str, *, session: Any = None, fallback: Fallback = "json"
) -> pa.Table:
    """The timers of the operator ``uid`` in a savepoint or checkpoint, see
    :meth:`SavepointReader.read_timers`."""
    with SavepointReader(location, session, fallback) as reader:
        return reader.read_timers(uid)


def read_windows(
    location: str, uid: str, *, session: Any = None, fallback: Fallback = "json"
) -> pa.Table:
    """What the windows of the operator ``uid`` hold in a savepoint or checkpoint, see
    :meth:`SavepointReader.read_windows`."""
    with SavepointReader(location, session, fallback) as reader:
        return reader.read_windows(uid)


def diff(
    one: str,
    other: str,
    uid: str,
    name: str,
    *,
    session: Any = None,
    fallback: Fallback = "json",
) -> pa.Table:
    """What became of the state ``name`` of the operator ``uid`` from the savepoint or checkpoint
    ``one`` to ``other``: a row for each key that was ``added``, ``removed`` or ``changed``, with
    what it had before and has after."""
    found = []
    for location in (one, other):
        with SavepointReader(location, session, fallback) as reader:
            found.append(reader.comparable(uid, name))
    return difference(*found)


def list_states(location: str, *, types: bool = False, session: Any = None) -> pa.Table:
    """All states in a savepoint or checkpoint: uid, name of the operator, name, kind, type, records
    and bytes.

    Records and bytes are those of the job's own account, and None where it has none. Types lie with
    the state, so that they are read only if ``types`` asks for them; the rest is read from JSON
    files, without Spark.
    """
    if types:
        with SavepointReader(location, session) as reader:
            return reader.list_states()
    directory = located(location)
    generation, last = directory.durable()
    inventory = {} if last < 0 else directory.epoch_of(generation, last).inventory
    return _listed(
        [
            (uid, record.name, name, _kind(record, name), None, *_size(record, name))
            for uid, record in inventory.items()
            for name in record.states
        ]
    )


def to_data_frame(table: pa.Table, session: Any = None) -> Any:
    """A table as a DataFrame of Spark: of ``session``, the active one, or a new one."""
    return (session or obtain_session({})).createDataFrame(table)
