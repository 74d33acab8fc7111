"""Makes tests/sql/match_recognize.json: what Flink finds by random MATCH_RECOGNIZE clauses.

Run it with a Python that has apache-flink, from the root of the project:

    python scripts/flink_match_recognize.py --count 100 --seed 12 > tests/sql/match_recognize.json

Twenty clauses are one job, since starting a job is what takes the time. If one of them fails, each
half of them is run by itself.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

NAMES = "ABCD"
DDL = (
    "CREATE TABLE {name} (id INT, k STRING, n INT, p DOUBLE, s STRING, ts TIMESTAMP(3), "
    "WATERMARK FOR ts AS ts - INTERVAL '90' SECOND)"
)
Cases = list[tuple[int, dict[str, Any]]]
Row = tuple[int, str, int | None, float | None, str | None, str]

# V is the variable that is defined, W another one of the pattern
CONDITIONS = [
    "2 < V.n",
    "V.n IS NOT NULL AND MOD(V.n, 2) = 0",
    "LAST(V.n, 1) < V.n OR LAST(V.n, 1) IS NULL",
    "LAST(V.n, 2) <> V.n OR LAST(V.n, 2) IS NULL",
    "W.n < n + 2",
    "FIRST(W.n) <= V.n",
    "LAST(W.n, 1) IS NULL OR V.n >= LAST(W.n, 1)",
    "V.n < 4 AND SUM(V.n) < 6",
    "COUNT(V.id) < 3",
    "AVG(W.p) < V.p OR AVG(W.p) IS NULL",
    "SUM(W.n) > V.n",
    "MAX(V.p) < 3.5",
    "MIN(W.p) <= V.p",
    "COUNT(W.n) >= 1 AND V.n > 0",
    "FIRST(V.n) < LAST(V.n) + 1 AND V.n > 0",
    "V.s = 'x' OR V.s IS NULL",
    "V.s LIKE 'x%' AND NOT V.n = 3",
    "UPPER(V.s) = 'X' OR V.p > 2",
    "LAST(V.s, 1) IS NULL OR LAST(V.s, 1) <> V.s",
    "CASE WHEN V.n > 2 THEN V.p > 1 ELSE V.p < 4 END",
    "V.n BETWEEN 1 AND 4",
    "V.n IN (1, 2, 5)",
    "V.p * 2 > V.n",
    "FIRST(n) < V.n + 3",
    "LAST(n, 1) <= V.n OR LAST(n, 1) IS NULL",
    "COUNT(n) < 4",
    "TIMESTAMPDIFF(SECOND, LAST(V.ts, 1), V.ts) < 7 OR LAST(V.ts, 1) IS NULL",
]
MEASURES = [
    "FIRST({v}.id)",
    "LAST({v}.id)",
    "{v}.id",
    "COUNT({v}.id)",
    "SUM({v}.n)",
    "AVG({v}.p)",
    "MIN({v}.n)",
    "MAX({v}.p)",
    "FIRST({v}.n, 1)",
    "LAST({v}.n, 1)",
    "LAST({v}.s)",
    "FIRST({v}.s, 2)",
    "FIRST(id)",
    "LAST(id, 1)",
    "COUNT(n)",
    "SUM(p)",
    "LAST({v}.n) - FIRST({v}.n)",
    "UPPER(LAST({v}.s)) || '!'",
    "CAST(MATCH_ROWTIME() AS STRING)",
    "TIMESTAMPDIFF(SECOND, FIRST(ts), LAST({v}.ts))",
]
QUANTIFIERS = ["", "", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "{0,2}", "*?", "+?", "{1,3}?"]
OPTIONAL = ("?", "*", "*?", "{0,2}")


def rows_of(draw: random.Random) -> list[Row]:
    made: list[Row] = []
    for number in range(draw.randint(3, 24)):
        n = draw.choice([None, 0, 1, 1, 2, 2, 3, 3, 4, 5])
        p = draw.choice([None, 0.5, 1.0, 1.5, 2.25, 3.0, 4.75])
        s = draw.choice([None, "x", "x", "y", "xy"])
        second = draw.randint(0, 40)
        made.append((number, draw.choice("aab"), n, p, s, f"2024-01-01 00:00:{second:02d}"))
    return made


def clause_of(draw: random.Random) -> tuple[str, int]:
    """The clause and how many measures it has."""
    names = NAMES[: draw.randint(1, 4)]
    chosen = [draw.choice(QUANTIFIERS) for _ in names]
    for at in range(1, len(names)):  # Flink refuses what is optional behind what takes all it can
        if chosen[at - 1] in ("*", "+", "{2,}", "{0,2}", "{1,3}") and chosen[at] in OPTIONAL:
            chosen[at] = draw.choice(["", "+", "{2}"])
    if draw.random() < 0.95:  # as the last of a pattern, Flink refuses what takes all it can
        chosen[-1] = draw.choice(["", "", "{2}", "*?", "+?", "{1,3}?"])
    pattern = " ".join(name + quantifier for name, quantifier in zip(names, chosen, strict=True))
    defined = [name for name in names if draw.random() < 0.75] or [names[-1]]
    define = []
    for name in defined:
        others = [one for one in names if one <= name]
        text = draw.choice(CONDITIONS).replace("W.", f"{draw.choice(others)}.")
        if draw.random() < 0.2:
            text = (
                f"({text}) AND ({draw.choice(CONDITIONS).replace('W.', f'{draw.choice(others)}.')})"
            )
        define.append(f"{name} AS {text.replace('V.', f'{name}.')}")
    measures = [
        draw.choice(MEASURES).format(v=draw.choice(names)) for _ in range(draw.randint(2, 5))
    ]
    listed = ", ".join(f"{one} AS m{at}" for at, one in enumerate(measures))
    skips = ["TO NEXT ROW", "PAST LAST ROW", "PAST LAST ROW"]
    if len(names) > 1:
        skips += [f"TO FIRST {draw.choice(names[1:])}", f"TO LAST {draw.choice(names[1:])}"]
    within = f" WITHIN INTERVAL '{draw.randint(2, 20)}' SECOND" if draw.random() < 0.4 else ""
    order = "ts, id" if draw.random() < 0.3 else "ts"
    clause = (
        f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} MEASURES {listed} ONE ROW PER MATCH "
        f"AFTER MATCH SKIP {draw.choice(skips)} PATTERN ({pattern}){within} "
        f"DEFINE {', '.join(define)})"
    )
    return clause, len(measures)


def draw_cases(count: int, seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    cases = []
    for _ in range(count):
        clause, measures = clause_of(draw)
        cases.append({"clause": clause, "measures": measures, "rows": rows_of(draw)})
    return cases


def field(value: object) -> str:
    return "" if value is None else str(value)


def query_of(number: int, case: dict[str, Any]) -> str:
    columns = ", ".join(f"CAST(m{at} AS STRING)" for at in range(case["measures"]))
    nulls = ", CAST(NULL AS STRING)" * (5 - case["measures"])
    return f"SELECT {number}, k, {columns}{nulls} FROM t{number} {case['clause']}"


def tables(cases: Cases, directory: Path) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", "UTC")
    for number, case in cases:
        path = directory / f"{number}.csv"
        path.write_text("".join(",".join(map(field, row)) + "\n" for row in case["rows"]))
        options = f" WITH ('connector'='filesystem', 'path'='{path}', 'format'='csv', "
        options += "'csv.null-literal'='')"
        env.execute_sql(DDL.format(name=f"t{number}") + options)
    return env


def cause_of(failure: Exception) -> str:
    lines = [line for line in str(failure).splitlines() if "Exception:" in line]
    return (lines[-1:] or [str(failure)])[0][:200]


def accepted(cases: Cases, env: TableEnvironment) -> Cases:
    """Those that Flink plans; the others get its reason."""
    good = []
    for number, case in cases:
        try:
            env.explain_sql(query_of(number, case))
            good.append((number, case))
        except Exception as failure:
            case["refused"] = cause_of(failure)
    return good


def answer(cases: Cases, env: TableEnvironment) -> None:
    """Put into each case what Flink finds, or why it fails."""
    query = " UNION ALL ".join(query_of(number, case) for number, case in cases)
    try:
        with env.sql_query(query).execute().collect() as rows:
            found = [list(row) for row in rows]
    except Exception as failure:
        if len(cases) == 1:
            cases[0][1]["failed"] = cause_of(failure)
            return
        half = len(cases) // 2
        answer(cases[:half], env)
        answer(cases[half:], env)
        return
    for number, case in cases:
        case["found"] = [row[1 : 2 + case["measures"]] for row in found if row[0] == number]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=12)
    chosen = parser.parse_args()
    every = list(enumerate(draw_cases(chosen.count, chosen.seed)))
    for begin in range(0, len(every), 20):
        cases = every[begin : begin + 20]
        with tempfile.TemporaryDirectory() as directory:
            env = tables(cases, Path(directory))
            good = accepted(cases, env)
            if good:
                answer(good, env)
    print("[")
    print(",\n".join(json.dumps(case) for _, case in every))
    print("]")


main()
