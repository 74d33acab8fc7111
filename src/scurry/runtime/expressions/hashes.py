"""Hashes of texts."""

from __future__ import annotations

import hashlib

from scurry.runtime.expressions.python_values import per_value

_BITS = (224, 256, 384, 512)


def _hash(name: str, algorithm: str) -> None:
    def value(text: str) -> str:
        return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()

    per_value(name)(value)


for _name in ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512"):
    _hash(_name, _name.lower())


@per_value("SHA2")
def _sha2(text: str, bits: int) -> str:
    if bits not in _BITS:
        raise ValueError(f"SHA2 has {', '.join(map(str, _BITS))} bits, not {bits}")
    return hashlib.new(f"sha{bits}", text.encode()).hexdigest()
