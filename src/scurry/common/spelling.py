"""Names that were probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``name`` is most likely a misspelling of, None if it is like none
    of them. Capital letters and underscores count for nothing: ``keyBy`` is ``key_by``."""
    plain = {_plain(each): each for each in known}
    found = get_close_matches(_plain(name), list(plain), n=1, cutoff=0.75)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
