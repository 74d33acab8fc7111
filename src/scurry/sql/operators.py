"""How tightly operators bind, as in Flink: the parser climbs by these numbers, the unparser puts
parentheses by them. A larger number binds more tightly. Two surprises of the dialect: ``||`` binds
as ``*`` does, and ``IS NULL`` more loosely than ``=``."""

from __future__ import annotations

OR, AND, NOT, IS, COMPARISON, BETWEEN, PLUS, TIMES, SIGN, ACCESS = (
    22, 24, 26, 28, 30, 32, 40, 60, 80, 100,
)  # fmt: skip

#: operators between two operands, all of which group from the left
BINARY = {
    **dict.fromkeys(("=", "<>", "<", ">", "<=", ">="), COMPARISON),
    **dict.fromkeys(("IS DISTINCT FROM", "IS NOT DISTINCT FROM"), COMPARISON),
    **dict.fromkeys(("OVERLAPS", "MEMBER OF", "SUBMULTISET OF"), COMPARISON),
    **dict.fromkeys(("+", "-"), PLUS),
    **dict.fromkeys(("*", "/", "%", "||"), TIMES),
    **{
        f"MULTISET {how} {which}": PLUS
        for how in ("UNION", "INTERSECT", "EXCEPT")
        for which in ("ALL", "DISTINCT")
    },
}
