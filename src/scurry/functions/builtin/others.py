"""What fits nowhere else: the catalog, window functions, and what Scurry does not have."""

from __future__ import annotations

from scurry.common.data_types import DataTypes
from scurry.functions.builtin.entry import BuiltIn, Kind, Status
from scurry.functions.builtin.signatures import signature

__all__ = ["OTHERS"]

_TYPES = "structured types are not implemented"
_BITMAPS = "bitmaps are not implemented"
_MODELS = "models belong to Flink's catalogs and run elsewhere; call a service in a function"


def _window(name: str, syntax: str, says: str) -> BuiltIn:
    return BuiltIn(name, "window", syntax, says, kind=Kind.TABLE)


def _table(name: str, syntax: str, says: str) -> BuiltIn:
    return BuiltIn(name, "other", syntax, says, kind=Kind.TABLE)


def _group_window(name: str, what: str) -> tuple[BuiltIn, ...]:
    parts = (
        ("START", "the start of the window"),
        ("END", "the end of the window"),
        ("ROWTIME", "the last moment of the window, an event-time attribute"),
        ("PROCTIME", "a processing-time attribute of the window"),
    )
    return tuple(
        BuiltIn(f"{name}_{part}", "window", f"{name}_{part}({what})", says, kind=Kind.WINDOW)
        for part, says in parts
    )


def _missing(name: str, says: str, reason: str, status: Status = Status.NOTIMPL) -> BuiltIn:
    return BuiltIn(name, "other", f"{name}(...)", says, status=status, reason=reason)


OTHERS: tuple[BuiltIn, ...] = (
    _window("TUMBLE", "TUMBLE(TABLE t, DESCRIPTOR(ts), size)", "windows one after the other"),
    _window("HOP", "HOP(TABLE t, DESCRIPTOR(ts), slide, size)", "windows that overlap"),
    _window(
        "CUMULATE",
        "CUMULATE(TABLE t, DESCRIPTOR(ts), step, size)",
        "windows that grow step by step",
    ),
    _window(
        "SESSION",
        "SESSION(TABLE t [PARTITION BY k], DESCRIPTOR(ts), gap)",
        "windows that end when nothing comes for the gap",
    ),
    *_group_window("TUMBLE", "ts, size"),
    *_group_window("HOP", "ts, slide, size"),
    *_group_window("SESSION", "ts, gap"),
    _table(
        "TO_CHANGELOG",
        "TO_CHANGELOG(TABLE t [, DESCRIPTOR(op)] [, mapping])",
        "each change of a table as a row, with its kind in a column",
    ),
    _table(
        "FROM_CHANGELOG",
        "FROM_CHANGELOG(TABLE t [, DESCRIPTOR(op)] [, mapping])",
        "each row as a change, of the kind that a column has",
    ),
    BuiltIn(
        "UNNEST",
        "other",
        "UNNEST(array, map or multiset)",
        "a row for each element",
        kind=Kind.TABLE,
    ),
    BuiltIn(
        "CURRENT_DATABASE",
        "other",
        "CURRENT_DATABASE()",
        "the name of the current database",
        (signature("", DataTypes.STRING(False)),),
        deterministic=False,
    ),
    BuiltIn(
        "SOURCE_WATERMARK",
        "other",
        "SOURCE_WATERMARK()",
        "the source's own watermarks, in a WATERMARK clause",
        (signature("", DataTypes.TIMESTAMP_LTZ(3)),),
        status=Status.NOTIMPL,
        reason="give the watermark as an expression of the rowtime column",
    ),
    *(
        _missing(name, says, _BITMAPS)
        for name, says in (
            ("BITMAP_BUILD", "a bitmap of an array of integers"),
            ("BITMAP_AND", "the intersection of bitmaps"),
            ("BITMAP_ANDNOT", "the difference of bitmaps"),
            ("BITMAP_OR", "the union of bitmaps"),
            ("BITMAP_XOR", "the symmetric difference of bitmaps"),
            ("BITMAP_CARDINALITY", "the size of a bitmap"),
            ("BITMAP_FROM_BYTES", "a bitmap from its serialised form"),
            ("BITMAP_TO_BYTES", "the serialised form of a bitmap"),
            ("BITMAP_TO_ARRAY", "the integers of a bitmap"),
            ("BITMAP_TO_STRING", "a bitmap as text"),
        )
    ),
    _missing("OBJECT_OF", "an object of a structured type", _TYPES),
    _missing("OBJECT_UPDATE", "an object with other values of some fields", _TYPES),
    _missing("ML_PREDICT", "what a model says of each row", _MODELS, Status.NEVER),
    _missing("ML_EVALUATE", "how well a model does", _MODELS, Status.NEVER),
    _missing("VECTOR_SEARCH", "the nearest vectors", _MODELS, Status.NEVER),
)
