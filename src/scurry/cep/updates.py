"""Changes of the patterns that a running job looks for, as documents of JSON.

A document names a pattern by its ``id`` and has a ``version``, which must be higher than that of
all documents of the same id before; one that comes too late is ignored. It says what to do:

- ``put`` adds a pattern, or replaces the version before;
- ``disable`` has no more matches begin, ``enable`` takes that back;
- ``remove`` forgets the pattern.

``keys`` are the keys in whose events the pattern is looked for, all of them if there are none.
``partial_matches`` says what becomes of matches of the version before that are not complete: they
``end``, which is the default, or they ``finish``: they go on by the pattern that they began with.

In event time a document holds from its own timestamp on, for events of that time and later ones,
however the two streams reach the job. A document that is late holds for all events that have not
been looked at. In processing time a document holds from when it arrives.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.pattern import Pattern
from scurry.cep.pattern_json import PatternDocument, decoded, document_of

__all__ = ["PatternUpdate", "disable_pattern", "enable_pattern", "put_pattern", "remove_pattern"]

#: What becomes of partial matches.
Fate = Literal["end", "finish"]


class PatternUpdate(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True
):
    """A document."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    version: int
    action: Literal["put", "disable", "enable", "remove"] = "put"
    pattern: PatternDocument | None = None
    keys: list[Any] | None = None
    partial_matches: Fate = "end"


def put_pattern(
    id: str,
    version: int,
    pattern: Pattern,
    *,
    keys: list[Any] | None = None,
    partial_matches: Fate = "end",
) -> str:
    """The document that adds a pattern, or replaces an earlier version of it."""
    return _text(
        id=id,
        version=version,
        pattern=document_of(pattern),
        keys=keys,
        partial_matches=partial_matches,
    )


def disable_pattern(id: str, version: int, *, partial_matches: Fate = "end") -> str:
    """The document that has no more matches of a pattern begin."""
    return _text(id=id, version=version, action="disable", partial_matches=partial_matches)


def enable_pattern(id: str, version: int) -> str:
    """The document that has matches of a disabled pattern begin again."""
    return _text(id=id, version=version, action="enable", partial_matches="finish")


def remove_pattern(id: str, version: int, *, partial_matches: Fate = "end") -> str:
    """The document that removes a pattern."""
    return _text(id=id, version=version, action="remove", partial_matches=partial_matches)


def _text(**fields: Any) -> str:
    return msgspec.json.encode(msgspec.convert(fields, type=PatternUpdate)).decode()


def read_update(given: Any) -> PatternUpdate:
    """The document that an element of the stream of patterns is; raises MalformedPatternError."""
    update: PatternUpdate = decoded(given, PatternUpdate, "an update of a pattern")
    if (update.action == "put") != (update.pattern is not None):
        needs = "needs a pattern" if update.action == "put" else "has no pattern of its own"
        raise MalformedPatternError(f"action: {update.action} {needs}.")
    if update.keys is not None and update.action != "put":
        raise MalformedPatternError(f"keys: {update.action} is for all keys of the pattern.")
    return update
