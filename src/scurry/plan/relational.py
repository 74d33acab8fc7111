"""Plan nodes of relations: what SQL and the Table API are lowered to.

A *relation* is a stream whose records have the columns of a schema, in order, and a kind each:
insertion, old or new row of an update, deletion. Every node says from birth which columns it sends
(``columns``) and which kinds of changes (``mode``). Columns of the input are named by index.

Expressions (``condition``, ``projections``) are typed trees of ``scurry.functions.expressions``, or
callables that take a RecordBatch and an evaluation context and return an Arrow array.

What has a key needs a :class:`~scurry.plan.nodes.KeyBy` before it whose selector is a
:class:`~scurry.functions.aggregate_calls.ColumnsKey` of the same columns; the key columns of a
node are those of its selectors. Nodes that change their mind about rows (aggregates, joins, top-N)
send the old row of an update only if ``update_before`` says that somebody needs it.

``retention_ms`` is the time to live of state that nobody touches, 0 for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.type_information import TypeInformation
from scurry.functions.aggregate_calls import (
    AggregateCall,
    AssignedWindows,
    ColumnsKey,
    Frame,
    SortKey,
    TableCall,
    Unnest,
)
from scurry.functions.lookups import LookupSettings
from scurry.functions.match_calls import MatchSpec
from scurry.plan.node import schema_of
from scurry.plan.nodes import KeyBy, Operator


@dataclass(frozen=True, eq=False, kw_only=True)
class Relational(Operator):
    """An operator on relations. Its inputs are relations, too: their schema is known."""

    #: the columns of what comes out
    columns: pa.Schema
    #: which kinds of changes come out
    mode: ChangelogMode = ChangelogMode.INSERT_ONLY

    @property
    def schema(self) -> pa.Schema | None:
        return self.columns

    @property
    def changelog(self) -> ChangelogMode | None:
        return self.mode

    @property
    def input_columns(self) -> tuple[pa.Schema, ...]:
        """The columns of each input."""
        return tuple(_columns_of(source) for source in self.inputs)

    @property
    def key_columns(self) -> tuple[tuple[int, ...], ...]:
        """The key columns of each input that is keyed."""
        keyed = [source for source in self.inputs if isinstance(source, KeyBy)]
        selectors = [source.selector for source in keyed]
        return tuple(s.indexes if isinstance(s, ColumnsKey) else () for s in selectors)


def _columns_of(source: Any) -> pa.Schema:
    if source.schema is None:
        raise ValueError(f"{source.name!r} is no relation: its columns are not known")
    return source.schema


@dataclass(frozen=True, eq=False, kw_only=True)
class Keyed(Relational):
    """One that keeps something for each key of its only input."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 1

    retention_ms: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedPair(Relational):
    """One with two keyed inputs, whose keys are compared."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 2
    input_count: ClassVar[int] = 2

    retention_ms: int = 0


# --- without state


@dataclass(frozen=True, eq=False, kw_only=True)
class Calc(Relational):
    """Filter and projection: the rows for which ``condition`` is true (None: all), and of these
    the ``projections`` (None: all columns). Rows keep their places, times and kinds. An update of
    which only one half passes the condition becomes an insertion or a deletion downstream, as in
    Flink, only if the input has both halves: below a filter the planner asks for ``-U``."""

    condition: Any = None
    projections: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ToChangelog(Relational):
    """Each change as an insertion, behind a first column with the code of its kind. ``codes`` are
    in the order of the kinds' numbers; changes of a kind without one are left out."""

    codes: tuple[str | None, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class FromChangelog(Relational):
    """Each insertion as a change, the kind of which is in the text column ``code``: ``kinds`` has
    the numbers of kinds for codes. Any other code is an error."""

    code: int
    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Correlate(Relational):
    """The input's columns beside those of the table that ``table`` makes of each row. ``left``
    keeps a row whose table is empty, with nulls. ``condition`` is over the columns of both."""

    table: Unnest | TableCall
    left: bool = False
    condition: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Expand(Relational):
    """Grouping sets: each row once for each of ``sets``, with those columns among ``grouped`` null
    that are not in the set; a last column ``$e`` (bigint) has the set's number in ``ids``."""

    grouped: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    ids: tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class WatermarkAssigner(Relational):
    """Event time of a table: the column ``rowtime`` is each row's timestamp, and ``watermark``, an
    expression over the row, the watermark it leads to, exactly; null leads to none."""

    gives_time: ClassVar[bool] = True

    rowtime: int
    watermark: Any
    #: after how many ms of silence a partition is left out, None for never
    idleness_ms: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowTable(Relational):
    """TUMBLE, HOP or CUMULATE: the input's columns and ``window_start``, ``window_end`` (TIMESTAMP
    or TIMESTAMP_LTZ as the schema says) and ``window_time``, a row for each window that the row
    is in. ``time`` is the time column, None for processing time. ``kind`` is "tumble" (``size``),
    "hop" (``size`` and ``step``, the slide) or "cumulate" (``size``, the greatest, and ``step``).
    All in milliseconds. The last three of ``columns`` are the window's."""

    kind: str
    time: int | None
    size: int
    step: int = 0
    offset: int = 0
    #: the zone in whose time windows are, empty where they are in the times of their rows
    zone: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class DropUpdateBefore(Relational):
    """The input without the old rows of updates."""


# --- aggregates


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupAggregate(Keyed):
    """GROUP BY without a window: the key columns, in the order of the selector, then a column for
    each of ``calls``. DISTINCT is one without calls.

    ``retracting`` says that the input can take rows back; then a group vanishes with its last row.
    Every change is sent, or with ``mini_batch`` the net change of each key and micro-batch, or of
    each ``mini_batch_rows`` rows if this is not 0.
    """

    calls: tuple[AggregateCall, ...] = ()
    retracting: bool = False
    update_before: bool = True
    mini_batch: bool = False
    mini_batch_rows: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalAggregate(Relational):
    """The rows of each batch that are equal in the columns ``groups`` as one row: these columns,
    then a column for each of ``calls``. A :class:`GroupAggregate` puts the parts together."""

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAggregate(Keyed):
    """``flat_aggregate``: the key columns, then those that the user's table aggregate function,
    ``call.function``, emits with ``emit_value``."""

    call: AggregateCall
    retracting: bool = False
    update_before: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowAggregate(Keyed):
    """Aggregates of windows that are columns already (from :class:`WindowTable`, or from another
    operator on windows): ``window_start`` and ``window_end`` are columns of the input. The key
    columns do not include them. Sends key columns, one column for each call, then those of
    ``properties``: "start", "end", "time" (the last instant, a time attribute). A window fires when
    event time reaches its end; with ``event_time`` false when the clock does. Rows that come later
    are dropped and counted. Where the input is ``retracting``, a row that is taken back counts as
    one less in the window of its time. With ``windows`` the input has a time instead of the bounds
    of windows, and ``window_start`` and ``window_end`` are not read."""

    calls: tuple[AggregateCall, ...]
    window_start: int
    window_end: int
    properties: tuple[str, ...] = ("start", "end", "time")
    event_time: bool = True
    retracting: bool = False
    zone: str = ""
    windows: AssignedWindows | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SessionAggregate(Keyed):
    """Aggregates of sessions: rows of a key that are less than ``gap`` ms apart. ``time`` is the
    time column, None for processing time. Sends what :class:`WindowAggregate` sends, and takes rows
    back as it does: they belong to a session, too."""

    calls: tuple[AggregateCall, ...]
    time: int | None
    gap: int
    properties: tuple[str, ...] = ("start", "end", "time")
    retracting: bool = False
    zone: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class SessionRows(Keyed):
    """The rows of sessions as :class:`SessionAggregate` has them, each with the start, the end and
    the last instant of its session behind it, when that has ended."""

    time: int | None
    gap: int
    zone: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class OverAggregate(Keyed):
    """OVER (PARTITION BY key ORDER BY time): the input's columns, then a column for each call,
    over the rows of ``frame``. ``time`` is the rowtime column, None for processing time. In event
    time rows are sent in the order of time as the watermark passes them; late rows are dropped."""

    calls: tuple[AggregateCall, ...]
    frame: Frame
    time: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class SortedOver(Keyed):
    """OVER in any order: the input's columns, then a column for each call, over the rows of
    ``frame`` in the order of ``order``. A row that comes or goes changes the results of others;
    every change is sent, or with ``net`` what each batch amounts to."""

    calls: tuple[AggregateCall, ...]
    order: tuple[SortKey, ...]
    frame: Frame
    net: bool = False
    update_before: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Match(Keyed):
    """MATCH_RECOGNIZE: the key columns, then a column for each measure. ``time`` is the rowtime
    column, None for processing time; ``order`` is for rows of the same time. In event time rows are
    looked at in order as the watermark passes them; late rows are dropped."""

    match: MatchSpec
    time: int | None
    order: tuple[SortKey, ...] = ()


# --- joins


@dataclass(frozen=True, eq=False, kw_only=True)
class RegularJoin(KeyedPair):
    """A join without bounds in time, on equal keys, with retractions on both sides.

    ``kind`` is "inner", "left", "right", "full", "semi" or "anti" (the last two send the left
    columns only). ``condition`` is what else must be true, over the columns of both sides. A key
    that has a null equals nothing, unless ``null_equal`` says of its column that it does.
    ``retentions`` is for how many milliseconds the rows of each side are kept, 0 for ever."""

    kind: str = "inner"
    condition: Any = None
    null_equal: tuple[bool, ...] = ()
    retentions: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class TimeIntervalJoin(KeyedPair):
    """A join of insertions in which the right row's time is ``lower`` to ``upper`` ms after the
    left row's. ``left_time`` and ``right_time`` are time columns, or None for processing time.
    ``kind`` is "inner", "left", "right" or "full"; rows that remain without a partner are sent with
    nulls once none can come."""

    kind: str
    lower: int
    upper: int
    left_time: int | None
    right_time: int | None
    condition: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalJoin(KeyedPair):
    """``FOR SYSTEM_TIME AS OF left.rowtime``: each left row with the version of the right row of
    its key that was valid then. ``left_time`` and ``right_time`` are rowtime columns; the right
    input is a changelog by key. ``left`` keeps left rows without a version, with nulls."""

    left: bool
    left_time: int
    right_time: int
    condition: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowJoin(KeyedPair):
    """A join of rows of the same window: both inputs have window columns, whose indexes are
    ``left_window`` and ``right_window`` (start, end). Fires at the end of each window. ``kind`` as
    for :class:`RegularJoin`."""

    kind: str
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    condition: Any = None
    zone: str = ""


# --- order


@dataclass(frozen=True, eq=False, kw_only=True)
class Rank(Keyed):
    """Top-N: of the rows of each key those whose row number by ``order`` is from ``first`` to
    ``last``. With ``number`` a last column (bigint) has the row number. ``retracting`` says that
    the input can take rows back or update them. With ``row_key`` it updates rows only, which these
    columns identify, and no update puts a row further back. An ORDER BY with LIMIT is a Rank
    without keys. With ``bound``, one of the columns of the key, rows whose number is greater than
    its value are left out, too."""

    order: tuple[SortKey, ...]
    first: int
    last: int
    number: bool = False
    retracting: bool = False
    row_key: tuple[int, ...] | None = None
    bound: int | None = None
    update_before: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowRank(Keyed):
    """Top-N of each window and key, sent at the end of the window: insertions only."""

    order: tuple[SortKey, ...]
    first: int
    last: int
    window_start: int
    window_end: int
    number: bool = False
    zone: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Deduplicate(Keyed):
    """The first or last row of each key, by the time column ``time``, or by arrival if that is
    None. The input is insertions only. The first rows are an append stream; by time, a row is sent
    when the watermark has passed it."""

    keep_last: bool
    time: int | None = None
    update_before: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalSort(Keyed):
    """ORDER BY a rowtime column: rows in the order of time, then of ``order``, as the watermark
    passes them. Keyed by no column."""

    time: int
    order: tuple[SortKey, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Limit(Keyed):
    """LIMIT without ORDER BY: rows ``offset`` to ``offset + fetch`` of an append stream. Keyed by
    no column."""

    offset: int = 0
    fetch: int | None = None


# --- sets and changelogs


@dataclass(frozen=True, eq=False, kw_only=True)
class SetOperation(KeyedPair):
    """INTERSECT or EXCEPT, ``kind`` "intersect" or "except", with ``all`` by multiplicity. Both
    inputs are keyed by all columns, and nulls equal each other."""

    kind: str
    all: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangelogNormalize(Keyed):
    """Makes a whole changelog of upserts by key: of each row whether it is new, an update with its
    old row, or nothing new; deletions get the whole row."""

    update_before: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class SinkMaterialize(Keyed):
    """For a sink whose key is not the key of the changelog: of the rows that there are for each
    sink key the one that came last is what the sink holds. Keyed by the sink's key."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FinalRows(Keyed):
    """What a changelog amounts to, as insertions, when the bounded input ends: batch execution puts
    it in front of its sinks. The input has the old rows of updates (mode retract). Keyed by any
    columns; by none if there is an ``order``, in which the rows are sent then."""

    order: tuple[SortKey, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupJoin(Relational):
    """Each row beside those that ``lookup`` finds for it: an object with ``open``, ``close`` and
    ``lookup(RecordBatch of the key columns) -> (RecordBatch of found rows, index of the row each is
    for)``. ``keys`` are expressions over the input; ``left`` keeps rows for which none are found;
    ``condition`` is over the columns of both."""

    lookup: Any
    keys: tuple[Any, ...] = field(default=())
    left: bool = False
    condition: Any = None
    settings: LookupSettings = field(default_factory=LookupSettings)


@dataclass(frozen=True, eq=False, kw_only=True)
class AsyncLookupJoin(LookupJoin):
    """The same with a call for each key, many of them at a time; ``lookup`` is an
    :class:`~scurry.functions.lookups.AwaitedLookup`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamColumns(Relational):
    """The elements of a stream, of the type ``elements``, as rows: for each column the place of the
    field that it has, or None for the elements' timestamps."""

    elements: TypeInformation
    places: tuple[int | None, ...]

    @property
    def input_columns(self) -> tuple[pa.Schema, ...]:
        columns = schema_of(self.elements)
        assert columns is not None, "the type of a table's elements has columns"
        return (columns,)


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordTimes(Relational):
    """Rows as elements of a stream, whose timestamps are the values of the column ``rowtime``."""

    rowtime: int
