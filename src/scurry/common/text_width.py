"""How wide a text is on a terminal, where the letters of some scripts take two places."""

from __future__ import annotations

import unicodedata

__all__ = ["width_of"]


def width_of(text: str) -> int:
    """How many places a text takes up: wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
