"""TO_CHANGELOG and FROM_CHANGELOG: the kinds of changes as a column, and a column as kinds.

Each kind of change has a code, by default its own name. ``op_mapping`` gives other codes: for
TO_CHANGELOG a map from kinds to codes, for FROM_CHANGELOG one from codes to kinds. A key of the map
may name several, with commas between them.
"""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.data_types import CharacterStringType
from scurry.common.types import RowKind
from scurry.functions.expressions import InputRef
from scurry.planner.algebra import FromChangelog, Node, Project, ToChangelog
from scurry.planner.bind.arguments import named_arguments
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.gaps import refuse
from scurry.sql import ast

_PARAMETERS = ("INPUT", "OP", "OP_MAPPING")
_KINDS = {kind.name: kind.value for kind in RowKind}
CHANGELOG_FUNCTIONS = frozenset({"TO_CHANGELOG", "FROM_CHANGELOG"})


def bind_changelog(
    call: ast.FunctionCall, bind_table: Callable[[ast.TableArgument], Node], batch: bool
) -> Node:
    """The relation of a call of one of the two."""
    name = str(call.name).upper()
    if batch:
        raise refuse("changelog-batch", call.span, f"{name} in batch mode")
    given = named_arguments(call, name, _PARAMETERS)
    node = bind_table(_table(given.get("INPUT"), call, name))
    column = _code_column(given.get("OP"), name)
    pairs = _pairs(given.get("OP_MAPPING"), name)
    if name == "TO_CHANGELOG":
        return _to_changelog(node, "op" if column is None else column.name, pairs, call)
    return _from_changelog(node, column, pairs, call)


def _table(given: ast.Expression | None, call: ast.FunctionCall, name: str) -> ast.TableArgument:
    if isinstance(given, ast.ScalarQuery):
        return ast.TableArgument(given.query, span=given.span)
    if not isinstance(given, ast.TableArgument):
        message = f"{name} needs a table as its first argument"
        raise SqlValidationError(message, call.span, "Write TABLE t, or a query in parentheses.")
    if given.partition_by or given.order_by:
        message = f"{name} looks at each row by itself, so its table has no PARTITION BY"
        raise SqlValidationError(message, given.span, "Leave the clause out.")
    return given


def _code_column(given: ast.Expression | None, name: str) -> ast.Identifier | None:
    if given is None:
        return None
    if not isinstance(given, ast.Descriptor) or len(given.columns) != 1:
        message = f"{name} needs the column of codes as the argument op"
        raise SqlValidationError(message, given.span, "Write op => DESCRIPTOR(op).")
    return given.columns[0]


_Text = tuple[str, ast.Expression]


def _pairs(given: ast.Expression | None, name: str) -> list[tuple[_Text, _Text]] | None:
    """The entries of ``op_mapping``, where keys that name several are one entry each."""
    if given is None:
        return None
    if not isinstance(given, ast.MapConstructor) or len(given.items) % 2:
        raise _no_mapping(name, given)
    items = [(_text(one, name), one) for one in given.items]
    return [
        ((key.strip(), place), value)
        for (keys, place), value in zip(items[::2], items[1::2], strict=True)
        for key in keys.split(",")
    ]


def _text(node: ast.Expression, name: str) -> str:
    found = node.value if isinstance(node, ast.StringLiteral | ast.Constant) else None
    if not isinstance(found, str):
        raise _no_mapping(name, node)
    return found


def _no_mapping(name: str, node: ast.Expression) -> SqlValidationError:
    entry = "'INSERT', 'I'" if name == "TO_CHANGELOG" else "'I', 'INSERT'"
    message = f"The argument op_mapping of {name} is a map of constant texts"
    return SqlValidationError(message, node.span, f"Write op_mapping => MAP[{entry}].")


def _kind(name: str, place: ast.Expression) -> int:
    if name not in _KINDS:
        raise unknown("kind of change", name, _KINDS, place.span)
    return _KINDS[name]


def _repeated(what: str, place: ast.Expression) -> SqlValidationError:
    message = f"op_mapping has {what} twice"
    return SqlValidationError(message, place.span, "Name it once.")


def _to_changelog(
    node: Node, column: str, pairs: list[tuple[_Text, _Text]] | None, call: ast.FunctionCall
) -> Node:
    codes: dict[int, str] = {}
    for (kind, place), (code, _) in pairs or []:
        if _kind(kind, place) in codes:
            raise _repeated(kind, place)
        codes[_kind(kind, place)] = code
    if pairs is None:
        codes = {value: name for name, value in _KINDS.items()}
    if any(one.name == column for one in node.columns):
        message = f"The table has a column {column} already"
        raise SqlValidationError(message, call.span, "Name another: op => DESCRIPTOR(change).")
    listed = tuple(codes.get(value) for value in range(len(_KINDS)))
    return ToChangelog(node, column, listed, span=call.span)


def _from_changelog(
    node: Node,
    column: ast.Identifier | None,
    pairs: list[tuple[_Text, _Text]] | None,
    call: ast.FunctionCall,
) -> Node:
    name, place = ("op", call.span) if column is None else (column.name, column.span)
    names = [one.name for one in node.columns]
    if name not in names:
        raise unknown("column", name, names, place)
    at = names.index(name)
    if not isinstance(node.type_of(at), CharacterStringType):
        message = f"FROM_CHANGELOG needs codes that are texts, and {name} is "
        raise SqlValidationError(message + node.type_of(at).describe(), place)
    kinds: dict[str, int] = {}
    for (code, where), (kind, kind_place) in pairs or []:
        if code in kinds:
            raise _repeated(code, where)
        kinds[code] = _kind(kind, kind_place)
    if pairs is None:
        kinds = dict(_KINDS)
    known = set(kinds.values())
    if RowKind.UPDATE_AFTER.value in known and RowKind.UPDATE_BEFORE.value not in known:
        message = "op_mapping has UPDATE_AFTER without UPDATE_BEFORE"
        raise SqlValidationError(
            message, call.span, "Give codes to both, or declare a key and use upsert-kafka."
        )
    found = FromChangelog(node, at, tuple(sorted(kinds.items())), span=call.span)
    kept = [one for one in range(node.width) if one != at]
    refs = tuple(InputRef(one, found.type_of(one)) for one in kept)
    return Project(found, refs, tuple(names[one] for one in kept), span=call.span)
