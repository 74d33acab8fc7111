"""Random queries about event time: windows, intervals, versions, and rows in the order of time.

The tables ``e`` and ``f`` grow in the order of their times, so that no row is late; ``c`` is
changed, and its watermark is so far behind that no row is late either.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tests.property.queries.query import Draw, Query, pick, query

#: the seconds from the start of all times to a time, as a text
_SECONDS = "CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '2024-01-01 00:00:00', {0}) AS STRING)"
_DUCK_SECONDS = "CAST(seconds({0}) AS VARCHAR)"
_START = "TIMESTAMP '2024-01-01 00:00:00'"


def timeline(draw: Draw, depth: int = 1) -> Query:
    """Columns ``k``, ``v`` and ``ts``, the last of them event time: tables, and queries after which
    it still is."""
    if depth <= 0:
        return Query("SELECT k, v, ts FROM e", "SELECT k, v, ts FROM e")
    shape = draw(st.sampled_from(_TIMELINES))
    return shape(draw, depth)


def _filtered(draw: Draw, depth: int) -> Query:
    condition = pick(draw, "v > 0", "k IS NOT NULL", "TRUE", "v IS NULL OR k = 1")
    column = pick(draw, "v", "v + 1", "k")
    return query(
        f"SELECT k, {column} AS v, ts FROM ({{i}}) AS q WHERE {condition}",
        i=timeline(draw, depth - 1),
    )


def _united(draw: Draw, depth: int) -> Query:
    text = "SELECT k, v, ts FROM ({i}) AS q UNION ALL SELECT k, v, ts FROM f"
    return query(text, i=timeline(draw, depth - 1))


def _paired(draw: Draw, depth: int) -> Query:
    """Rows beside others of about the same time."""
    before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    columns = pick(draw, "x.k, y.v, x.ts", "x.k, x.v, y.ts")
    return query(
        f"SELECT {columns} FROM ({{i}}) AS x JOIN f AS y ON x.k = y.k AND x.ts BETWEEN "
        f"y.ts - INTERVAL '{before}' SECOND AND y.ts + INTERVAL '{after}' SECOND",
        i=timeline(draw, depth - 1),
    )


def _versioned(draw: Draw, depth: int) -> Query:
    inner = timeline(draw, depth - 1)
    kind = pick(draw, "JOIN", "LEFT JOIN")
    return Query(
        f"SELECT x.k, y.v, x.ts FROM ({inner.text}) AS x {kind} newest "
        "FOR SYSTEM_TIME AS OF x.ts AS y ON x.k = y.k",
        f"SELECT x.k, y.v, x.ts FROM ({inner.duck}) AS x ASOF {kind} f AS y "
        "ON COALESCE(x.k, -1) = COALESCE(y.k, -1) AND x.ts >= y.ts",
    )


def _first(draw: Draw, depth: int) -> Query:
    rank = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts)"
    return Query(*[
        f"SELECT k, v, ts FROM (SELECT *, {rank} AS n FROM e) AS q WHERE n = 1" for _ in range(2)
    ])  # fmt: skip


def _summed(draw: Draw, depth: int) -> Query:
    """Windows of windows: the last moment of a window is event time."""
    found = windows(draw, timeline(draw, depth - 1), sessions=False)
    call = pick(draw, "COUNT(v)", "MAX(v)", "MIN(v)")
    text = (
        f"SELECT k, CAST({call} AS INT) AS v, {{t}} AS ts FROM {{w}} AS q "
        "GROUP BY k, window_start, window_end{g}"
    )
    return Query(
        text.format(t="window_time", w=found.text, g=", window_time"),
        text.format(t="window_end - INTERVAL '1' MILLISECOND", w=found.duck, g=""),
    )


_TIMELINES = (_filtered, _united, _paired, _versioned, _first, _summed)


def windows(draw: Draw, table: str | Query, sessions: bool = True) -> Query:
    """A table or a query with windows of its rows; sessions are of each ``k``."""
    size, step = draw(st.sampled_from([(4, 2), (6, 2), (6, 3), (5, 5), (9, 3)]))
    kind = pick(
        draw, "TUMBLE", "HOP", "CUMULATE", *(["SESSION"] if sessions and table != "c" else [])
    )
    sizes = {
        "TUMBLE": f"INTERVAL '{size}' SECOND",
        "HOP": f"INTERVAL '{step}' SECOND, INTERVAL '{size}' SECOND",
        "CUMULATE": f"INTERVAL '{step}' SECOND, INTERVAL '{size}' SECOND",
        "SESSION": f"INTERVAL '{step}' SECOND",
    }[kind]
    keys = " PARTITION BY k" if kind == "SESSION" else ""
    given = Query(f"TABLE {table}", table) if isinstance(table, str) else table
    rows = given.text if isinstance(table, str) else f"({given.text})"
    inner = given.duck if isinstance(table, str) else f"({given.duck}) AS q"
    text = f"TABLE({kind}({rows}{keys}, DESCRIPTOR(ts), {sizes}))"
    return Query(text, f"({_duck_windows(inner, kind, size, step)})")


def _duck_windows(table: str, kind: str, size: int, step: int) -> str:
    if kind == "SESSION":
        new = (
            f"CASE WHEN ts - LAG(ts) OVER (PARTITION BY k ORDER BY ts) <= to_seconds({step}) "
            "THEN 0 ELSE 1 END"
        )
        islands = (
            f"SELECT *, SUM(new) OVER (PARTITION BY k ORDER BY ts) AS island "
            f"FROM (SELECT *, {new} AS new FROM {table})"
        )
        return (
            "SELECT k, v, ts, MIN(ts) OVER (PARTITION BY k, island) AS window_start, "
            f"MAX(ts) OVER (PARTITION BY k, island) + to_seconds({step}) AS window_end "
            f"FROM ({islands})"
        )
    every = {"TUMBLE": size, "HOP": step, "CUMULATE": size}[kind]
    ends = f"range(1, {size // step + 1})" if kind == "CUMULATE" else "range(0, 1)"
    length = f"to_seconds(m * {step})" if kind == "CUMULATE" else f"to_seconds({size})"
    return (
        f"SELECT k, v, ts, {_START} + to_seconds(n * {every}) AS window_start, "
        f"{_START} + to_seconds(n * {every}) + {length} AS window_end "
        f"FROM {table}, range(-10, 40) AS g(n), {ends} AS h(m) "
        "WHERE ts >= window_start AND ts < window_end"
    )


def _with_seconds(text: str, **parts: Query) -> Query:
    """A query in which ``seconds(t)`` is written, over others."""
    flink, duck = _replaced(text, _SECONDS), _replaced(text, _DUCK_SECONDS)
    for name, part in parts.items():
        flink = flink.replace(f"<{name}>", part.text)
        duck = duck.replace(f"<{name}>", part.duck)
    return Query(flink, duck)


def _replaced(text: str, form: str) -> str:
    before, *rest = text.split("seconds_of(")
    return before + "".join(
        form.format(one.split(")", 1)[0]) + one.split(")", 1)[1] for one in rest
    )


_CALLS = ("COUNT(*)", "COUNT(v)", "SUM(v)", "MIN(v)", "MAX(v)", "COUNT(DISTINCT v)",
          "SUM(v) FILTER (WHERE v > 1)", "MAX(v) - MIN(v)")  # fmt: skip


def window_groups(draw: Draw) -> Query:
    if draw(st.booleans()):
        found = windows(draw, timeline(draw, draw(st.integers(1, 2))), sessions=False)
    else:
        found = windows(draw, pick(draw, "e", "e", "c"))
    sessions = found.text.startswith("TABLE(SESSION")
    key, by = ("k", ", k") if sessions else draw(st.sampled_from([("k", ", k"), ("0", "")]))
    having = pick(draw, "", "", " HAVING COUNT(*) > 1")
    return _with_seconds(
        f"SELECT {key} AS a, {pick(draw, *_CALLS)} AS b, seconds_of(window_start) AS s "
        f"FROM <w> GROUP BY window_start, window_end{by}{having}",
        w=found,
    )


def _of_size(draw: Draw) -> Query:
    """Windows that are no sessions."""
    return windows(draw, "e", sessions=False)


def window_ranks(draw: Draw) -> Query:
    partition = pick(draw, "", ", k")
    order = pick(draw, "v DESC, ts", "v, ts DESC", "ts", "ts DESC")
    rank = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end{partition} ORDER BY {order})"
    keep = pick(draw, "n <= 1", "n <= 2", "n = 2", "n BETWEEN 2 AND 3")
    found = windows(draw, "e")
    return _with_seconds(
        f"SELECT k AS a, v AS b, seconds_of(window_start) AS s "
        f"FROM (SELECT *, {rank} AS n FROM <w>) AS x WHERE {keep}",
        w=found,
    )


def window_joins(draw: Draw) -> Query:
    one = _of_size(draw)
    other = Query(one.text.replace("TABLE e", "TABLE f"), one.duck.replace("FROM e", "FROM f"))
    same = "x.window_start = y.window_start AND x.window_end = y.window_end AND x.k = y.k"
    more = pick(draw, "", " AND x.v < y.v", " AND x.v = y.v")
    kind = pick(draw, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS")
    if "EXISTS" in kind:
        return _with_seconds(
            "SELECT x.k AS a, x.v AS b, seconds_of(x.window_start) AS s FROM (SELECT * FROM <o>) "
            f"AS x WHERE {kind} (SELECT 1 FROM (SELECT * FROM <t>) AS y WHERE {same}{more})",
            o=one, t=other,
        )  # fmt: skip
    return _with_seconds(
        "SELECT x.v AS a, y.v AS b, seconds_of(x.window_start) AS s "
        f"FROM (SELECT * FROM <o>) AS x {kind} (SELECT * FROM <t>) AS y ON {same}{more}",
        o=one, t=other,
    )  # fmt: skip


def interval_joins(draw: Draw) -> Query:
    before, after = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    kind = pick(draw, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    more = pick(draw, "", "", " AND x.v < y.v", " AND x.v = 1")
    return _with_seconds(
        f"SELECT x.v AS a, y.v AS b, seconds_of(x.ts) AS s FROM e AS x {kind} f AS y "
        f"ON x.k = y.k AND x.ts BETWEEN y.ts - INTERVAL '{before}' SECOND "
        f"AND y.ts + INTERVAL '{after}' SECOND{more}"
    )


def versions(draw: Draw) -> Query:
    """Each row with what was the newest row of the other table at its time."""
    kind = pick(draw, "JOIN", "LEFT JOIN")
    columns = "SELECT x.v AS a, y.v AS b, seconds_of(x.ts) AS s FROM e AS x "
    return _with_seconds(f"{columns}<j>", j=Query(
        f"{kind} newest FOR SYSTEM_TIME AS OF x.ts AS y ON x.k = y.k",
        # in this join NULL is a key like any other
        f"ASOF {kind} f AS y ON COALESCE(x.k, -1) = COALESCE(y.k, -1) AND x.ts >= y.ts",
    ))  # fmt: skip


def group_windows(draw: Draw) -> Query:
    """The older form of windows, in GROUP BY."""
    size, step = draw(st.sampled_from([(4, 2), (6, 3), (5, 5)]))
    rows = timeline(draw, draw(st.integers(0, 2)))
    kind = pick(draw, "TUMBLE", "HOP")
    sizes = f"INTERVAL '{size}' SECOND"
    if kind == "HOP":
        sizes = f"INTERVAL '{step}' SECOND, {sizes}"
    call, having = pick(draw, *_CALLS), pick(draw, "", "", " HAVING COUNT(*) > 1")
    text = f"SELECT {{k}} AS a, {call} AS b, seconds_of({{s}}) AS s FROM <w> GROUP BY {{g}}{having}"
    flink = text.format(k="k", s="<start>", g=f"k, {kind}(ts, {sizes})")
    duck = text.format(k="k", s="window_start", g="k, window_start, window_end")
    shown = Query(f"({rows.text}) AS q", _duck_windows(f"({rows.duck}) AS q", kind, size, step))
    return Query(
        _replaced(flink, _SECONDS)
        .replace("<start>", f"{kind}_START(ts, {sizes})")
        .replace("<w>", shown.text),
        _replaced(duck, _DUCK_SECONDS).replace("<w>", f"({shown.duck}) AS q"),
    )


def frames(draw: Draw) -> Query:
    partition = pick(draw, "", "PARTITION BY k ")
    frame = pick(draw, "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                 "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                 "RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW",
                 "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")  # fmt: skip
    call = pick(draw, "COUNT(*)", "COUNT(v)", "SUM(v)", "MIN(v)", "MAX(v)", "COUNT(DISTINCT v)")
    return _with_seconds(
        f"SELECT k AS a, {call} OVER ({partition}ORDER BY ts {frame}) AS b, "
        "seconds_of(ts) AS s FROM e"
    )


def first_and_last(draw: Draw) -> Query:
    rank = f"ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts {pick(draw, 'ASC', 'DESC')})"
    return _with_seconds(
        "SELECT k AS a, v AS b, seconds_of(ts) AS s "
        f"FROM (SELECT *, {rank} AS n FROM {pick(draw, 'e', 'c')}) AS x WHERE n = 1"
    )


def timed_rows(draw: Draw) -> Query:
    """Rows with their times."""
    text = "SELECT k AS a, v AS b, seconds_of(ts) AS s FROM (<w>) AS q"
    return _with_seconds(text, w=timeline(draw, draw(st.integers(1, 2))))


def timed(draw: Draw) -> Query:
    """Any of them."""
    shapes = (window_groups, window_groups, window_ranks, window_joins, interval_joins, versions,
              frames, first_and_last, group_windows, timed_rows)  # fmt: skip
    return draw(st.sampled_from(shapes))(draw)
