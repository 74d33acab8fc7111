"""What a state holds, written down: so that a later program knows whether it can read it.

A schema is plain data: a label such as ``"LONG"``; ``{"list": item}``, ``{"map": [key, value]}``,
``{"set": item}``, ``{"tuple": [...]}``, ``{"row": [names, types]}``; for a dataclass its name and
fields; and for a state without a declared type ``{"any": {name: schema}}``, the classes seen in it.
It travels in the checkpoint, beside the data.
"""

from __future__ import annotations

from typing import Any

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo
from scurry.common.errors import TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo, DataclassTypeInfo, TupleTypeInfo
from scurry.common.scalar_types import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from scurry.common.type_inference import infer_type
from scurry.common.type_information import TypeInformation
from scurry.state.codecs.pickles import find_class, has_default, shape_of

Schema = Any
ANY = "ANY"
BYTES = "BYTES"
_INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
_FLOATS = ("FLOAT", "DOUBLE")
_OF_BUILTINS = {
    "builtins:int": "LONG",
    "builtins:float": "DOUBLE",
    "builtins:str": "STRING",
    "builtins:bool": "BOOLEAN",
    "builtins:bytes": BYTES,
    "decimal:Decimal": "BIG_DEC",
    "datetime:date": "SQL_DATE",
    "datetime:datetime": "SQL_TIMESTAMP",
    "datetime:time": "SQL_TIME",
}
_CONTAINERS = {"builtins:list": "list", "builtins:dict": "map", "builtins:tuple": "tuple"}


def schema_of(info: TypeInformation | None) -> Schema:
    """The schema of a declared type; of none, that of a state without one."""
    if info is None:
        return {"any": {}}
    if isinstance(info, BasicTypeInfo):
        return info.label
    if isinstance(info, PrimitiveArrayTypeInfo) and info.elem_type == BasicTypeInfo(BasicType.BYTE):
        return BYTES
    if isinstance(info, ListTypeInfo):
        return {"list": schema_of(info.elem_type)}
    if isinstance(info, MapTypeInfo):
        return {"map": [schema_of(info._key_type_info), schema_of(info._value_type_info)]}
    if isinstance(info, TupleTypeInfo):
        return {"tuple": [schema_of(field) for field in info.field_types()]}
    if isinstance(info, DataclassTypeInfo):
        return _class_schema(info.element_class, info)
    if isinstance(info, CompositeTypeInfo):
        return {"row": [list(info.field_names()), [schema_of(t) for t in info.field_types()]]}
    return ANY if isinstance(info, PickledBytesTypeInfo) else info.label


def _class_schema(cls: type[Any], info: DataclassTypeInfo) -> Schema:
    shape = shape_of(cls)
    fields = [
        [name, schema_of(kind), shape is not None and has_default(shape, name)]
        for name, kind in zip(info.field_names(), info.field_types(), strict=True)
    ]
    return {"class": class_name(cls), "fields": fields}


def class_name(cls: type[Any]) -> str:
    """How schemas name a class."""
    return f"{cls.__module__}:{cls.__qualname__}"


def seen_schema(cls: type[Any]) -> Schema | None:
    """What is written down of a class seen in a state without a declared type."""
    if shape_of(cls) is None:
        return None
    try:
        found = infer_type(cls)
    except TypeMismatchError:
        return None
    return schema_of(found) if isinstance(found, DataclassTypeInfo) else None


def name_of(schema: Schema) -> str:
    """A schema as messages show it."""
    if isinstance(schema, str):
        return schema
    ((kind, inner),) = [(k, v) for k, v in schema.items() if k != "fields"]
    if kind == "class":
        fields = ", ".join(f"{name}: {name_of(field)}" for name, field, _ in schema["fields"])
        return f"{_short(inner)}({fields})"
    if kind == "any":
        return f"no declared type (seen: {', '.join(map(_short, inner)) or 'nothing'})"
    if kind == "row":
        names, types = inner
        return f"ROW({', '.join(f'{n}: {name_of(t)}' for n, t in zip(names, types, strict=True))})"
    parts = inner if isinstance(inner, list) else [inner]
    return f"{kind.upper()}({', '.join(map(name_of, parts))})"


def _short(name: str) -> str:
    return name.partition(":")[2]


def misfit(old: Schema, new: Schema) -> str | None:
    """Why data of schema ``old`` cannot be read as ``new``; None if it can."""
    if _undeclared(old):
        return _misfit_of_seen(old["any"], new)
    if old == new or new == ANY or _undeclared(new):
        return _classes_gone(old) if new != old else None
    if isinstance(old, str) or isinstance(new, str):
        return None if _widens(old, new) else f"{name_of(old)} became {name_of(new)}"
    for kind in ("list", "map", "tuple", "row", "class", "set"):
        if (kind in old) != (kind in new):
            break
        if kind in old:
            return _misfit_within(kind, old, new)
    return f"{name_of(old)} became {name_of(new)}"


def _misfit_within(kind: str, old: Schema, new: Schema) -> str | None:
    before, after = old[kind], new[kind]
    if kind == "class":
        return _misfit_of_fields(old, new)
    if kind == "list":
        return misfit(before, after)
    if kind == "set" or (kind == "map" and before[0] != after[0]):
        # elements and keys say where an entry lies: they cannot change their form
        one, other = (before, after) if kind == "set" else (before[0], after[0])
        same = one == other or _undeclared(one) or _undeclared(other)
        same = same or (one in _INTEGERS and other in _INTEGERS and _widens(one, other))
        if not same:
            return f"{kind} keys of type {name_of(one)} became {name_of(other)}"
        return None if kind == "set" else misfit(before[1], after[1])
    if kind == "row":
        before, after = before[1], after[1]
    if len(before) != len(after):
        return f"{len(before)} fields became {len(after)}"
    return next(filter(None, map(misfit, before, after)), None)


def _undeclared(schema: Schema) -> bool:
    return isinstance(schema, dict) and "any" in schema


def _misfit_of_fields(old: Schema, new: Schema) -> str | None:
    before = {name: schema for name, schema, _ in old["fields"]}
    for name, schema, defaulted in new["fields"]:
        if name not in before:
            if not defaulted:
                return f"field {name!r} of {_short(new['class'])} is new and has no default"
        elif reason := misfit(before[name], schema):
            return f"field {name!r} of {_short(new['class'])}: {reason}"
    return None


def _widens(old: Schema, new: Schema) -> bool:
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) <= _INTEGERS.index(new)
    if new in _FLOATS:
        return old in _INTEGERS or (old in _FLOATS and _FLOATS.index(old) <= _FLOATS.index(new))
    return bool(old == new) or (old == "CHAR" and new == "STRING")


def _misfit_of_seen(seen: dict[str, Schema], new: Schema) -> str | None:
    for name, schema in seen.items():
        if _undeclared(new):
            reason = _class_misfit(name, schema)
        else:
            reason = _misfit_of_one(name, schema, new)
        if reason:
            return reason
    return None


def _misfit_of_one(name: str, schema: Schema, new: Schema) -> str | None:
    """Whether instances of a class seen earlier fit a type declared now."""
    if new == ANY:
        return None
    if schema is not None:
        return misfit(schema, new)
    if name in _CONTAINERS and isinstance(new, dict) and _CONTAINERS[name] in new:
        return None
    found = _OF_BUILTINS.get(name)
    if found == "LONG" and new in _INTEGERS:
        return None
    if found is not None and isinstance(new, str) and _widens(found, new):
        return None
    return f"{_short(name)} became {name_of(new)}"


def _class_misfit(name: str, schema: Schema | None) -> str | None:
    """Whether the program's class of that name can still be built from what is stored."""
    module, _, qualname = name.partition(":")
    found = find_class(module, qualname)
    if found is None and "<locals>" in qualname:
        return None
    if found is None:
        return f"the program has no {module}.{qualname} any more"
    if schema is None or not isinstance(found, type):
        return None
    now = seen_schema(found)
    return f"{qualname} is no longer a dataclass" if now is None else misfit(schema, now)


def _classes_gone(schema: Schema) -> str | None:
    """Whether the classes of a declared type can be found by their names, now that no type is
    declared."""
    if isinstance(schema, str):
        return None
    if "class" in schema:
        return _class_misfit(schema["class"], schema)
    for inner in schema.values():
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict) and (reason := _classes_gone(part)):
                return reason
    return None
