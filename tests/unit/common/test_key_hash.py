"""The hash of keys is fixed for ever: by its specification, written out once more here, and by
numbers; on columns it is the same as on objects."""

from __future__ import annotations

import datetime as dt
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.column_keys import hash_column, hash_tuples
from scurry.common.key_forms import canonical
from scurry.common.keys import key_group, stable_hash

PAGE = Path(__file__).parents[3] / "docs" / "design" / "hash.md"
MASK = (1 << 64) - 1

#: A key, its form, its hash.
VECTORS: list[tuple[Any, bytes, int]] = [
    (0, b"i0", 0x0000000000000000),
    (1, b"i1", 0x5692161D100B05E5),
    (-1, b"i-1", 0xB4D055FCF2CBBD7B),
    (2**63 - 1, b"i9223372036854775807", 0x5A682AFE7965DEBD),
    (2**63, b"i9223372036854775808", 0xA594763D8EF03AFD),
    (True, b"i1", 0x5692161D100B05E5),
    (1.0, b"i1", 0x5692161D100B05E5),
    (1.5, b"f\x3f\xf8\x00\x00\x00\x00\x00\x00", 0xA516E3A3E3E0BA83),
    (None, b"n", 0x59D55B5077965CBE),
    ("", b"s", 0x80B887A75B423726),
    ("a", b"sa", 0x9583A89567E689AE),
    ("Zürich", b"sZ\xc3\xbcrich", 0x5E792A2E0A62A3ED),
    (b"\x00\xff", b"b\x00\xff", 0xC33FBB3847AF3E30),
    (dt.date(2020, 2, 29), b"a737484", 0xFBD5845649032702),
    ((1, "a"), b"t2:i12:sa", 0x5B4BBFC03896153B),
    (("user", None, -7), b"t5:suser1:n3:i-7", 0x42CB0A41F4FE719D),
    ("x" * 100, b"s" + b"x" * 100, 0xF1A57CC529CB059E),
]


def crc32(data: bytes) -> int:
    """CRC-32 bit by bit, as ISO 3309 defines it."""
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0xEDB88320 if found & 1 else 0)
    return found ^ 0xFFFFFFFF


def adler32(data: bytes) -> int:
    """Adler-32 byte by byte, as RFC 1950 defines it."""
    low, high = 1, 0
    for byte in data:
        low = (low + byte) % 65521
        high = (high + low) % 65521
    return high << 16 | low


def mixed(number: int) -> int:
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def specified(form: bytes) -> int:
    """The hash of a form, as the specification says."""
    if form[:1] == b"i" and -(1 << 63) <= int(form[1:]) < 1 << 63:
        return mixed(int(form[1:]) & MASK)
    return mixed(crc32(form) | adler32(form) << 32)


@pytest.mark.parametrize(("key", "form", "expected"), VECTORS, ids=lambda v: repr(v)[:24])
def test_vectors(key: Any, form: bytes, expected: int) -> None:
    assert canonical(key) == form
    assert specified(form) == expected
    assert stable_hash(key) == expected
    if isinstance(key, tuple):
        assert hash_tuples([pa.array([part]) for part in key]).tolist() == [expected]
    else:
        kind = pa.uint64() if key == 2**63 else None
        assert hash_column(pa.array([key], kind)).tolist() == [expected]


def test_key_groups_follow_from_the_hash() -> None:
    for key, _, expected in VECTORS:
        assert key_group(key, 128) == expected % 128


def test_the_page_has_the_same_vectors() -> None:
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \| `([0-9a-f]{16})` \|$", PAGE.read_text(), re.M)
    written = [(key, form, int(number, 16)) for key, form, number in rows]
    shown = [(k, f, n) for k, f, n in VECTORS if len(f) < 40]
    assert written == [
        (f"date {key}" if type(key) is dt.date else repr(key), repr(form)[2:-1], number)
        for key, form, number in shown
    ]


# --- on columns

TEXTS = st.text(st.characters(codec="utf-8"), max_size=80)
COLUMNS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "bool": (st.booleans(), pa.bool_()),
    "int8": (st.integers(-128, 127), pa.int8()),
    "int64": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "uint64": (st.integers(0, 2**64 - 1), pa.uint64()),
    "float64": (st.floats() | st.integers(-5, 5).map(float), pa.float64()),
    "string": (TEXTS, pa.string()),
    "large_string": (TEXTS, pa.large_string()),
    "binary": (st.binary(max_size=80), pa.binary()),
    "date32": (st.dates(), pa.date32()),
    "timestamp": (st.datetimes(), pa.timestamp("us")),
    "decimal": (st.decimals(-100, 100, places=2), pa.decimal128(9, 2)),
}


@st.composite
def tables(draw: st.DrawFn) -> list[pa.Array]:
    """One column or more of equal lengths, some of them pieces of longer ones."""
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3))
    size = draw(st.integers(0, 8))
    made = []
    for kind in kinds:
        values, arrow = COLUMNS[kind]
        listed = draw(st.lists(st.none() | values, min_size=size + 2, max_size=size + 2))
        at = draw(st.integers(0, 2))
        made.append(pa.array(listed, arrow).slice(at, size))
    return made


@given(tables())
def test_columns_hash_as_their_values(columns: list[pa.Array]) -> None:
    lists = [column.to_pylist() for column in columns]
    for column, values in zip(columns, lists, strict=True):
        assert hash_column(column).tolist() == [specified(canonical(value)) for value in values]
    rows = list(zip(*lists, strict=True))
    assert hash_tuples(columns).tolist() == [specified(canonical(row)) for row in rows]


def test_checksums_of_many_long_forms() -> None:
    texts = ["ab" * size for size in range(0, 400, 7)]
    found = hash_column(pa.array(texts)).tolist()
    assert found == [specified(b"s" + text.encode()) for text in texts]


def test_forms_of_floats_in_tuples_are_theirs() -> None:
    numbers = [0.5, -0.0, float("nan"), 1e300]
    forms = [b"f" + struct.pack(">d", 0.5), b"i0", b"nan", b"i%d" % int(1e300)]
    expected = [specified(b"t%d:%b" % (len(form), form)) for form in forms]
    assert hash_tuples([pa.array(np.array(numbers))]).tolist() == expected


def test_decimals_that_are_whole_hash_as_whole_numbers() -> None:
    """One key in columns of decimals, in columns of whole numbers, and as a Python object."""
    decimals = pa.array(
        [Decimal("0.00"), Decimal("7.00"), Decimal("7.50"), None], pa.decimal128(5, 2)
    )
    found = hash_column(decimals).tolist()
    assert found == [stable_hash(value) for value in decimals.to_pylist()]
    assert found[:2] == hash_column(pa.array([0, 7])).tolist()
