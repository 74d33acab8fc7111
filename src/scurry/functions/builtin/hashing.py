"""Hashes of texts, as hexadecimal digits."""

from __future__ import annotations

from scurry.common.data_types import DataTypes
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import signature

__all__ = ["HASHING"]


def _hash(name: str, length: int) -> BuiltIn:
    says = f"the {name} hash of a"
    return BuiltIn(name, "hash", f"{name}(a)", says, (signature("string", DataTypes.CHAR(length)),))


HASHING: tuple[BuiltIn, ...] = (
    _hash("MD5", 32),
    _hash("SHA1", 40),
    _hash("SHA224", 56),
    _hash("SHA256", 64),
    _hash("SHA384", 96),
    _hash("SHA512", 128),
    BuiltIn(
        "SHA2",
        "hash",
        "SHA2(a, bits)",
        "the SHA-2 hash of a of 224, 256, 384 or 512 bits",
        (signature("string, int", DataTypes.VARCHAR(128)),),
        fails=True,
    ),
)
