"""Random queries, each built of smaller ones.

A query gives two columns of whole numbers, ``a`` and ``b``, and one of texts, ``s``. What rows are
equal in all columns is equal, so that neither the order of rows nor ties of ranks matter.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from tests.property.queries.query import Draw, Query, pick, query
from tests.property.queries.times import timed


def number(draw: Draw, alias: str = "x") -> str:
    """A whole number from a row."""
    form = pick(draw, "{0}", "{0}", "{0}", "{0} + 1", "{0} * 2", "COALESCE({0}, 7)",
                "CASE WHEN {0} > 1 THEN 5 ELSE {0} END", "NULLIF({0}, 2)", "{1} - {0}",
                "CASE WHEN {2} = 'x' THEN {0} END")  # fmt: skip
    first, second = draw(st.permutations(["a", "b"]))
    return form.format(f"{alias}.{first}", f"{alias}.{second}", f"{alias}.s")


def letters(draw: Draw, alias: str = "x") -> str:
    """A text from a row."""
    form = pick(draw, "{0}.s", "{0}.s", "COALESCE({0}.s, 'n')", "UPPER({0}.s)",
                "CASE WHEN {0}.a > 1 THEN 'y' ELSE {0}.s END", "CAST(NULL AS STRING)")  # fmt: skip
    return form.format(alias)


def simple_condition(draw: Draw, alias: str = "x") -> str:
    """A condition that is about one row alone."""
    form = pick(draw, "{0} > 1", "{0} IS NULL", "{0} IN (1, 2)", "{0} NOT IN (1, 5)", "NOT {0} = 2",
                "{0} BETWEEN 1 AND 2", "{0} IS DISTINCT FROM 1", "({0} = 1 OR {0} IS NULL)",
                "{1}.s = 'x'", "{1}.s LIKE 'z%'", "{1}.s IS NOT NULL", "{1}.a = {1}.b",
                "({0} > 1) IS NOT TRUE", "{1}.a <= {1}.b", "TRUE",
                "{0} = 3 AND {1}.s <> 'x'")  # fmt: skip
    return form.format(number(draw, alias), alias)


_QUERIES_IN_CONDITIONS = (
    "EXISTS (SELECT 1 FROM ({o}) AS y WHERE y.a = x.a)",
    "EXISTS (SELECT 1 FROM ({o}) AS y WHERE y.a = x.b AND y.s = x.s)",
    "EXISTS (SELECT 1 FROM ({o}) AS y WHERE y.a = x.a AND y.b > x.b)",
    "EXISTS (SELECT 1 FROM ({o}) AS y WHERE y.b > 2)",
    "x.a IN (SELECT y.b FROM ({o}) AS y)",
    "x.b IN (SELECT y.b FROM ({o}) AS y WHERE y.s = x.s)",
    "x.b IN (SELECT MAX(y.b) FROM ({o}) AS y GROUP BY y.a)",
    "x.b > ANY (SELECT y.b FROM ({o}) AS y)",
    "x.b <= ALL (SELECT y.b FROM ({o}) AS y WHERE y.a = x.a)",
    "x.b >= (SELECT MIN(y.b) FROM ({o}) AS y)",
    "x.b <= (SELECT MAX(y.b) FROM ({o}) AS y WHERE y.a = x.a)",
    "x.b <= (SELECT COUNT(*) FROM ({o}) AS y WHERE y.a = x.a)",
    "x.b = (SELECT COUNT(*) + 1 FROM ({o}) AS y WHERE y.a = x.a AND y.s = x.s)",
    "EXISTS (SELECT 1 FROM (SELECT z.b FROM ({o}) AS z WHERE z.a = x.a) AS y WHERE y.b > 1)",
    "x.b < (SELECT COUNT(*) FROM (SELECT DISTINCT z.b FROM ({o}) AS z WHERE z.a <> x.a) AS y)",
)


def base(draw: Draw, depth: int = 0) -> Query:
    """A table, rows that are written, or something about times."""
    if not draw(st.integers(0, 5)):
        return timed(draw)
    return query(pick(draw, "SELECT k AS a, v AS b, s FROM l", "SELECT k AS a, v AS b, s FROM l",
                 "SELECT k AS a, w AS b, CASE WHEN w > 1 THEN 'x' END AS s FROM r",
                 "SELECT k AS a, w AS b, 'y' AS s FROM r",
                 "SELECT k AS a, v AS b, CASE id WHEN 1 THEN 'x' ELSE 'zz' END AS s FROM u",
                 "SELECT id AS a, v AS b, CAST(NULL AS STRING) AS s FROM u",
                 "SELECT k AS a, v AS b, s FROM i",
                 "SELECT k AS a, v AS b, 'x' AS s FROM e",
                 "SELECT * FROM (VALUES (1, 2, 'x'), (2, 0, 'y'), (1, 3, 'x')) AS c(a, b, s)",
                 ))  # fmt: skip


def projected(draw: Draw, depth: int) -> Query:
    where = "" if draw(st.booleans()) else f" WHERE {simple_condition(draw)}"
    columns = f"{number(draw)} AS a, {number(draw)} AS b, {letters(draw)} AS s"
    return query(f"SELECT {columns} FROM ({{i}}) AS x{where}", i=built(draw, depth - 1))


def asked(draw: Draw, depth: int) -> Query:
    """A condition with a query in it."""
    condition = pick(draw, *_QUERIES_IN_CONDITIONS)
    condition = pick(draw, "{0}", "{0}", "NOT {0}", "({0} OR x.s = 'y')", "NOT ({0} AND x.a > 0)")\
        .replace("{0}", condition)  # fmt: skip
    inner, other = built(draw, depth - 1), built(draw, depth - 2)
    return query(f"SELECT x.a, x.b, x.s FROM ({{i}}) AS x WHERE {condition}", i=inner, o=other)


def selected(draw: Draw, depth: int) -> Query:
    """A query in the select list."""
    column = pick(
        draw,
        "(SELECT MAX(y.b) FROM ({o}) AS y WHERE y.a = x.a)",
        "(SELECT COUNT(*) FROM ({o}) AS y WHERE y.a = x.a AND y.b > 1)",
        "(SELECT SUM(y.b) FROM ({o}) AS y)",
        f"CASE WHEN {pick(draw, *_QUERIES_IN_CONDITIONS)} THEN 1 ELSE 0 END",
        "CASE WHEN x.b IN (SELECT y.b FROM ({o}) AS y) THEN 1 "
        "WHEN x.b NOT IN (SELECT y.b FROM ({o}) AS y) THEN 0 END",
    )
    inner, other = built(draw, depth - 1), built(draw, depth - 2)
    return query(f"SELECT x.a, {column} AS b, x.s FROM ({{i}}) AS x", i=inner, o=other)


def joined(draw: Draw, depth: int) -> Query:
    kind = pick(draw, "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    on = pick(draw, "x.a = y.a", "x.a = y.a", "x.a = y.b AND x.s = y.s", "x.a = y.a AND x.b < y.b",
              "x.a IS NOT DISTINCT FROM y.a", "x.a = y.a AND x.b > 1", "x.a = y.a AND y.s = 'x'",
              "x.a + 1 = y.b", "x.a = y.a AND (x.b = y.b OR x.s = y.s)")  # fmt: skip
    if kind != "FULL JOIN":
        on = pick(draw, on, on, on, "x.a < y.a", "TRUE")
    where = pick(draw, "", "", "", f" WHERE {simple_condition(draw)}", " WHERE y.b IS NULL",
                 " WHERE x.s = y.s", " WHERE x.b = y.b OR x.s IS NULL")  # fmt: skip
    columns = pick(draw, "x.a, y.b, x.s", "y.a, x.b, y.s", "x.a, y.a AS b, COALESCE(x.s, y.s) AS s",
                   "COALESCE(x.a, y.a) AS a, x.b + y.b AS b, y.s")  # fmt: skip
    one, other = built(draw, depth - 1), built(draw, depth - draw(st.integers(1, 2)))
    text = f"SELECT {columns} FROM ({{o}}) AS x {kind} ({{t}}) AS y ON {on}{where}"
    return query(text, o=one, t=other)


def joined_if(draw: Draw, depth: int) -> Query:
    """A query in ON."""
    kind = pick(draw, "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    asked = pick(draw, *_QUERIES_IN_CONDITIONS)
    asked = asked if draw(st.booleans()) else asked.replace("y.", "w.").replace("AS y", "AS w")\
        .replace("x.", "y.")  # fmt: skip
    more = pick(draw, "{0}", "{0}", "NOT {0}", "({0} OR x.b = y.b)").replace("{0}", asked)
    columns = pick(draw, "x.a, y.b, x.s", "y.a, x.b, y.s")
    parts = {name: built(draw, depth - at) for name, at in (("l", 1), ("r", 2), ("o", 2))}
    text = f"SELECT {columns} FROM ({{l}}) AS x {kind} ({{r}}) AS y ON x.a = y.a AND {more}"
    return query(text, **parts)


def with_itself(draw: Draw, depth: int) -> Query:
    """A query that is used twice."""
    kind = pick(draw, "JOIN", "LEFT JOIN", "FULL JOIN")
    on = pick(draw, "x.a = y.a", "x.a = y.b", "x.a = y.a AND x.b < y.b")
    text = (
        "WITH c AS ({i}) SELECT x.a, y.b, x.s FROM (SELECT a, b, s FROM c WHERE b > 0) AS x "
        f"{kind} c AS y ON {on}"
    )
    return query(text, i=built(draw, depth - 1))


_CALLS = ("COUNT(*)", "COUNT(b)", "SUM(b)", "MIN(b)", "MAX(b)", "AVG(b)", "COUNT(DISTINCT b)",
          "SUM(DISTINCT b)", "COUNT(*) FILTER (WHERE b > 1)", "COUNT(DISTINCT s)",
          "SUM(b) FILTER (WHERE s = 'x')", "MAX(b) FILTER (WHERE a > 0)",
          "COUNT(DISTINCT b) FILTER (WHERE s IS NOT NULL)")  # fmt: skip


def _calls(draw: Draw) -> str:
    first, second = pick(draw, *_CALLS), pick(draw, *_CALLS)
    form = pick(draw, "{0}", "{0}", "{0} + {1}", "COALESCE({0}, {1})")
    texts = pick(draw, "MIN(s)", "MAX(s)", "MIN(s)", "CASE WHEN COUNT(s) > 1 THEN 'x' END")
    return f"{form.format(first, second)} AS b, {texts} AS s"


def grouped(draw: Draw, depth: int) -> Query:
    key = pick(draw, "a", "a", "b", "COALESCE(a, b)", "CASE WHEN s = 'x' THEN a END")
    more = pick(draw, "", "", ", s")
    having = pick(draw, "", "", "", " HAVING COUNT(*) > 1", " HAVING MAX(b) IS NOT NULL",
                  " HAVING SUM(b) > 2 OR COUNT(DISTINCT s) = 1")  # fmt: skip
    text = f"SELECT {key} AS a, {_calls(draw)} FROM ({{i}}) AS g GROUP BY {key}{more}{having}"
    return query(text, i=built(draw, depth - 1))


def grouped_asking(draw: Draw, depth: int) -> Query:
    """Queries beside, within and about aggregates."""
    call = pick(
        draw,
        "(SELECT MAX(y.b) FROM ({o}) AS y WHERE y.a = x.b)",
        "COUNT(*) + (SELECT COUNT(*) FROM ({o}) AS y WHERE y.a < x.b)",
        "SUM((SELECT MAX(y.b) FROM ({o}) AS y WHERE y.a = x.a))",
        "COUNT(*) FILTER (WHERE x.a IN (SELECT y.a FROM ({o}) AS y))",
    )
    having = pick(draw, "", "", " HAVING EXISTS (SELECT 1 FROM ({o}) AS y WHERE y.a = x.b)",
                  " HAVING x.b NOT IN (SELECT y.b FROM ({o}) AS y WHERE y.a = x.b)",
                  " HAVING COUNT(*) > (SELECT MIN(y.b) FROM ({o}) AS y)")  # fmt: skip
    text = f"SELECT x.b AS a, {call} AS b, MIN(x.s) AS s FROM ({{i}}) AS x GROUP BY x.b{having}"
    return query(text, i=built(draw, depth - 1), o=built(draw, depth - 2))


def whole(draw: Draw, depth: int) -> Query:
    """An aggregate over all rows: none in a stream as long as there is no row."""
    text = f"SELECT {pick(draw, 'MAX(a)', 'COUNT(a)')} AS a, {_calls(draw)} FROM ({{i}}) AS g"
    return query(f"{text} /*streaming*/", i=built(draw, depth - 1))


def grouping_sets(draw: Draw, depth: int) -> Query:
    sets = pick(draw, "ROLLUP (a, s)", "CUBE (a, s)", "GROUPING SETS ((a), (s))",
                "GROUPING SETS ((a, s), (a))")  # fmt: skip
    call = pick(draw, *_CALLS[:-1])
    columns = f"a, {call} + GROUPING(a) * 100 AS b, s"
    text = f"SELECT {columns} FROM ({{i}}) AS g GROUP BY {sets} HAVING COUNT(*) > 0"
    return query(text, i=built(draw, depth - 1))


def distinct(draw: Draw, depth: int) -> Query:
    return query("SELECT DISTINCT a, b, s FROM ({i}) AS x", i=built(draw, depth - 1))


def combined(draw: Draw, depth: int) -> Query:
    how = pick(draw, "UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL",
               "INTERSECT ALL")  # fmt: skip
    one, other = built(draw, depth - 1), built(draw, depth - draw(st.integers(1, 2)))
    text = f"SELECT a, b, s FROM ({{o}}) AS x {how} SELECT a, b, s FROM ({{t}}) AS y"
    return query(text, o=one, t=other)


def _order(draw: Draw) -> str:
    columns = draw(st.permutations(["a", "b", "s"]))
    return ", ".join(f"{one} {pick(draw, 'ASC', 'DESC')}" for one in columns)


def ranked(draw: Draw, depth: int) -> Query:
    partition = pick(draw, "", "PARTITION BY a ", "PARTITION BY s, a ", "PARTITION BY s ")
    rank = f"ROW_NUMBER() OVER ({partition}ORDER BY {_order(draw)})"
    keep = pick(draw, "n <= 1", "n <= 2", "n <= 2", "n = 1", "n = 2", "n < 3", "n BETWEEN 2 AND 3",
                "1 < n AND n <= 4", "n <= 2 AND b > 0", "n <= a",
                "n < b", "a >= n AND n > 1", "n = b")  # fmt: skip
    columns = pick(draw, "a, b, s", "a, b, s", "a, CAST(n AS INT) AS b, s", "b AS a, b, s")
    text = (
        f"SELECT {columns} FROM (SELECT a, b, s, {rank} AS n FROM ({{i}}) AS x) AS y WHERE {keep}"
    )
    return query(text, i=built(draw, depth - 1))


def limited(draw: Draw, depth: int) -> Query:
    limit = pick(draw, "LIMIT 1", "LIMIT 2", "LIMIT 3", "LIMIT 2 OFFSET 1")
    first = f"SELECT a, b, s FROM ({{i}}) AS x ORDER BY {_order(draw)} {limit}"
    return query(f"SELECT a, b, s FROM ({first}) AS y", i=built(draw, depth - 1))


def over(draw: Draw, depth: int) -> Query:
    """Rows of equal places have equal values, so ties do not matter."""
    call = pick(draw, "SUM(b)", "COUNT(*)", "MIN(b)", "MAX(b)", "COUNT(b)")
    frame = pick(draw, "PARTITION BY a ORDER BY b", "ORDER BY a", "PARTITION BY s ORDER BY a")
    text = f"SELECT a, {call} OVER ({frame}) AS b, s FROM ({{i}}) AS x"
    return query(text, i=built(draw, depth - 1))


def lateral(draw: Draw, depth: int) -> Query:
    inner = pick(draw, "SELECT y.b AS w FROM ({o}) AS y WHERE y.a = x.a",
                 "SELECT y.b + x.b AS w FROM ({o}) AS y WHERE y.a = x.a AND y.b >= x.b",
                 "SELECT COUNT(*) AS w FROM ({o}) AS y WHERE y.a = x.a",
                 "SELECT MAX(y.b) AS w FROM ({o}) AS y WHERE y.a < x.b",
                 "SELECT y.b AS w FROM ({o}) AS y WHERE y.a = x.a ORDER BY y.b DESC LIMIT 1",
                 "SELECT SUM(y.b) AS w FROM ({o}) AS y WHERE y.a = x.a GROUP BY y.s")  # fmt: skip
    kind = pick(draw, "CROSS JOIN LATERAL ({0}) AS z", "LEFT JOIN LATERAL ({0}) AS z ON TRUE")
    text = f"SELECT x.a, z.w AS b, x.s FROM ({{i}}) AS x {kind.replace('{0}', inner)}"
    return query(text, i=built(draw, depth - 1), o=built(draw, depth - 2))


def unnested(draw: Draw, depth: int) -> Query:
    text = "SELECT x.a, z.e AS b, x.s FROM ({i}) AS x CROSS JOIN UNNEST(ARRAY[x.a, x.b]) AS z(e)"
    return query(text, i=built(draw, depth - 1))


SHAPES = (projected, asked, selected, joined, joined, joined, joined_if, with_itself, grouped,
          grouped, grouped_asking, whole, grouping_sets, distinct, combined, ranked, ranked,
          limited, over, lateral, unnested)  # fmt: skip


def built(draw: Draw, depth: int) -> Query:
    """A query of so many steps above tables."""
    if depth <= 0:
        return base(draw)
    shape: Callable[[Draw, int], Query] = draw(st.sampled_from(SHAPES))
    return shape(draw, depth)


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> Query:
    """A query of up to ``depth`` steps."""
    return built(draw, draw(st.integers(1, depth)))
