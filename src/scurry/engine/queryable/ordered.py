"""Where the records of a key lie in a view: in the order of the keys.

In a slot records are sorted by key group, which scatters keys. Whoever scans wants them in order:
whole numbers by value, texts by their characters. So a view files a record under another form of
its key, made of the canonical form that stands in the record's address. No such form is the
beginning of another one, so that entries of a map can follow the key they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.state.journal import LONGEST, stored_key
from scurry.state.tables.table import address, prefix_of

_INT, _OTHER, _TEXT, _LONG = b"i", b"o", b"s", b"#"
_BIAS = 1 << 63
_INT64 = range(-_BIAS, _BIAS)
_END = b"\x00\x00"
#: The longest form of a key, and the longest place; LMDB takes 511 bytes, with the table's number.
_LONGEST_FORM, _LONGEST = 400, 500
#: Records from which on numbers are handled as columns.
_COLUMNS_FROM = 64

#: Makes the place of a record out of the address under which slots store it.
PlaceForm = Callable[[bytes], bytes]


def ordered(form: bytes) -> bytes:
    """The canonical form ``form`` in a form that sorts as the keys do."""
    kind = form[:1]
    if kind == _INT:
        number = int(form[1:])
        if number in _INT64:
            return _INT + (number + _BIAS).to_bytes(8, "big")
    elif kind == _TEXT:
        made = text_beginning(form[1:]) + _END
        if len(made) <= _LONGEST_FORM:
            return made
    if len(form) > _LONGEST_FORM:
        return _LONG + blake2b(form, digest_size=32).digest()
    return _OTHER + len(form).to_bytes(2, "big") + form


def text_beginning(text: bytes) -> bytes:
    """How the forms of texts begin that begin with ``text``, in UTF-8."""
    return _TEXT + text.replace(b"\x00", b"\x00\xff")


def number_form(number: int) -> bytes:
    """The form of a whole number; beyond 64 bits, the nearest that there is."""
    return ordered(b"i%d" % min(max(number, -_BIAS), _BIAS - 1))


def length_of(place: bytes) -> int:
    """How many bytes of ``place``, which may go on with something else, are the form of a key."""
    kind = place[:1]
    if kind == _INT:
        return 9
    if kind == _TEXT:
        return place.index(_END) + 2
    return 33 if kind == _LONG else 3 + int.from_bytes(place[1:3], "big")


def single_place(stored: bytes) -> bytes:
    """Where the record at the address ``stored`` of a table goes that has one record a key."""
    return ordered(stored[2:])


def many_place(stored: bytes) -> bytes:
    """The same for a table with several records for each key; the address may be that of the key
    alone."""
    end = 4 + int.from_bytes(stored[2:4], "big")
    key, rest = ordered(stored[4:end]), stored[end:]
    if len(key) + len(rest) > _LONGEST:
        rest = blake2b(rest, digest_size=32).digest()
    return key + rest


def key_place(key: Any, groups: int, many: bool) -> bytes:
    """The place of an engine key in a table that has one record for each key, or ``many``;
    ``groups`` is the number of key groups of the job."""
    if many:
        return many_place(prefix_of(key, groups))
    return single_place(stored_key(address(key, groups)))


def placed(
    begin: bytes, form: PlaceForm, stored: list[bytes], records: list[bytes]
) -> Iterable[tuple[bytes, bytes]]:
    """The places of ``records``, whose addresses are ``stored``, with the records. Places begin
    with ``begin``, and go on with what ``form`` makes of the address. They are in an order if it
    costs little: LMDB takes sorted places in five sixths of the time, and to sort pairs takes as
    long as that."""
    if form is single_place and len(stored) >= _COLUMNS_FROM:
        numbers = _numbers(stored)
        if numbers is not None:
            order = np.argsort(numbers)
            places = _places_of_numbers(begin, numbers[order])
            return zip(places, itemgetter(*order.tolist())(records), strict=True)
    return zip([begin + form(each) for each in stored], records, strict=True)


def _numbers(stored: list[bytes]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """The keys of these addresses, None unless all are whole numbers of at most 64 bits."""
    forms = pa.array(stored, pa.binary())
    if not pc.all(pc.equal(pc.binary_slice(forms, 2, 3), _INT)).as_py():
        return None
    try:
        digits = pc.cast(pc.binary_slice(forms, 3, LONGEST), pa.string())
        numbers: np.ndarray[Any, np.dtype[np.int64]] = pc.cast(digits, pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers


def _places_of_numbers(begin: bytes, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> list[bytes]:
    """What :func:`single_place` makes of numbers, after ``begin``."""
    head = np.frombuffer(begin + _INT, np.uint8)
    width = len(head) + 8
    places = np.empty((len(numbers), width), np.uint8)
    places[:, : len(head)] = head
    biased = (numbers.view(np.uint64) ^ np.uint64(_BIAS)).astype(">u8")
    places[:, len(head) :] = biased.view(np.uint8).reshape(-1, 8)
    found: list[bytes] = places.view(f"V{width}").ravel().tolist()
    return found
