"""Changelog modes: which kinds of changes a stream can have."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class ChangelogMode(Enum):
    """What the records of a stream mean for the table that they amount to."""

    #: every record is a row more
    INSERT_ONLY = "insert-only"
    #: an update comes as two records, the old row (``-U``) and the new one (``+U``); a deletion
    #: has the whole row
    RETRACT = "retract"
    #: an update is the new row alone, and replaces what was there under the same key; a deletion
    #: may have no more than the key
    UPSERT = "upsert"


_BY_PROMISE = tuple(ChangelogMode)


def mode_of_union(modes: Iterable[ChangelogMode | None]) -> ChangelogMode | None:
    """The mode of streams that are united: the one that promises least. None, not known, if that
    of one of them is not."""
    found = list(modes)
    known = [mode for mode in found if mode is not None]
    return max(known, key=_BY_PROMISE.index) if known and len(known) == len(found) else None
