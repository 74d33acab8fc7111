"""Calls of functions, those with words of their own included."""

from __future__ import annotations

from collections.abc import Callable

from scurry.sql.ast import expressions as ast
from scurry.sql.ast.node import Expression, Name
from scurry.sql.ast.queries import ExplicitTable
from scurry.sql.keywords import FUNCTIONS, NILADIC
from scurry.sql.parser.calls import SPECIAL_CALLS
from scurry.sql.unparse.writer import bare, commas, quoted, unparse, when, words, writes


@writes(ast.FunctionCall)
def _call(node: ast.FunctionCall) -> str:
    return words(
        node.semantics,
        _special(node) or _plain(node),
        when(node.within_group, f"WITHIN GROUP (ORDER BY {commas(node.within_group)})"),
        when(node.nulls, f"{node.nulls} NULLS"),
        "" if node.filter is None else f"FILTER (WHERE {unparse(node.filter)})",
        "" if node.over is None else f"OVER {unparse(node.over)}",
    )


def _plain(node: ast.FunctionCall) -> str:
    name = _function_name(node.name)
    bare = not node.arguments and not node.quantifier and not node.order_by
    if bare and len(node.name.parts) == 1 and str(node.name) in NILADIC:
        return str(node.name)
    order = when(node.order_by, f"ORDER BY {commas(node.order_by)}")
    return f"{name}({words(node.quantifier, commas(node.arguments), order)})"


def _function_name(name: Name) -> str:
    word = str(name).upper()
    if len(name.parts) == 1 and word in FUNCTIONS and name.names[0].isascii():
        return str(name)
    return unparse(name) if len(name.parts) > 1 else bare(name.names[0])


# --- functions with words of their own ------------------------------------------------------------


def _special(node: ast.FunctionCall) -> str:
    """The text of a call whose arguments are as its own syntax gives them; else nothing."""
    name, arguments = str(node.name), node.arguments
    if len(node.name.parts) > 1 or name not in SPECIAL_CALLS or node.quantifier or node.order_by:
        return ""
    return _SPECIAL[name](name, arguments) if _fits(name, arguments) else ""


def _fits(name: str, arguments: tuple[Expression, ...]) -> bool:
    least, most, word = _SHAPES[name]
    if not least <= len(arguments) <= most:
        return False
    odd = (ast.NamedArgument, ast.Default, ast.TableArgument, ast.ModelArgument, ast.Star)
    if any(isinstance(one, odd) for one in arguments):
        return False
    found = [place for place, one in enumerate(arguments) if isinstance(one, ast.Word)]
    return found == [word] if word is not None else found in ([], [1])


def _extract(name: str, arguments: tuple[Expression, ...]) -> str:
    return f"EXTRACT({unparse(arguments[0])} FROM {unparse(arguments[1])})"


def _position(name: str, arguments: tuple[Expression, ...]) -> str:
    part, whole, *start = map(unparse, arguments)
    return f"POSITION(({part}) IN {whole}{''.join(f' FROM {one}' for one in start)})"


def _overlay(name: str, arguments: tuple[Expression, ...]) -> str:
    whole, part, start, *length = map(unparse, arguments)
    tail = "".join(f" FOR {one}" for one in length)
    return f"OVERLAY({whole} PLACING {part} FROM {start}{tail})"


def _trim(name: str, arguments: tuple[Expression, ...]) -> str:
    side, value, *characters = map(unparse, arguments)
    return f"TRIM({words(side, *characters, 'FROM', value)})"


def _floor(name: str, arguments: tuple[Expression, ...]) -> str:
    if len(arguments) == 2 and isinstance(arguments[1], ast.Word):
        return f"{name}({unparse(arguments[0])} TO {unparse(arguments[1])})"
    return f"{name}({commas(arguments)})"


def _with_commas(name: str, arguments: tuple[Expression, ...]) -> str:
    return f"{name}({commas(arguments)})"


_SPECIAL: dict[str, Callable[[str, tuple[Expression, ...]], str]] = {
    "EXTRACT": _extract,
    "POSITION": _position,
    "OVERLAY": _overlay,
    "SUBSTRING": _with_commas,
    "TRIM": _trim,
    **dict.fromkeys(("FLOOR", "CEIL", "CEILING"), _floor),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), _with_commas),
}
#: how many arguments at least and at most, and which of them is a word
_SHAPES: dict[str, tuple[int, int, int | None]] = {
    "EXTRACT": (2, 2, 0),
    "POSITION": (2, 3, None),
    "OVERLAY": (3, 4, None),
    "SUBSTRING": (2, 3, None),
    "TRIM": (2, 3, 0),
    **dict.fromkeys(("FLOOR", "CEIL", "CEILING"), (1, 2, None)),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), (3, 3, 0)),
}


# --- arguments ------------------------------------------------------------------------------------


@writes(ast.NamedArgument)
def _named(node: ast.NamedArgument) -> str:
    return f"{quoted(node.name.name)} => {unparse(node.value)}"


@writes(ast.Default)
def _default(node: ast.Default) -> str:
    return "DEFAULT"


@writes(ast.Descriptor)
def _descriptor(node: ast.Descriptor) -> str:
    if not node.types:
        return f"DESCRIPTOR({commas(node.columns)})"
    pairs = zip(map(unparse, node.columns), map(unparse, node.types), strict=True)
    return f"DESCRIPTOR({', '.join(map(' '.join, pairs))})"


@writes(ast.TableArgument)
def _table(node: ast.TableArgument) -> str:
    text = unparse(node.query)
    return words(
        text if isinstance(node.query, ExplicitTable) else f"TABLE ({text})",
        when(node.partition_by, f"PARTITION BY ({commas(node.partition_by)})"),
        when(node.order_by, f"ORDER BY ({commas(node.order_by)})"),
    )


@writes(ast.ModelArgument)
def _model(node: ast.ModelArgument) -> str:
    return f"MODEL {unparse(node.name)}"
