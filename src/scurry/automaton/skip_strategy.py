"""Which of several matches are left when one is found.

Matches may overlap: ``a+ b`` finds three in *a a a b*. A strategy names an event of a match that is
found, and all other matches, complete or not, that began before it are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scurry.common.errors import ProgramError

#: Events are known by their timestamp, and by their number among those of the same timestamp.
EventId = tuple[int, int]
#: The events of a match, by the names of the pattern's steps.
MatchedIds = Mapping[str, list[EventId]]


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """``kind`` is "no skip", "next", "past last", "first" or "last"; the last two have a step's
    ``name``. With ``strict`` a match without an event of that name is an error, and so is one that
    begins with the event to skip to, as the same match would be found again."""

    kind: str
    name: str | None = None
    strict: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every possible match is found."""
        return AfterMatchSkipStrategy("no skip")

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Other matches that began with the same event are dropped."""
        return AfterMatchSkipStrategy("next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Matches that began before the match ended are dropped."""
        return AfterMatchSkipStrategy("past last")

    @staticmethod
    def skip_to_first(name: str) -> AfterMatchSkipStrategy:
        """Matches that began before the first event of the step ``name`` are dropped."""
        return AfterMatchSkipStrategy("first", name)

    @staticmethod
    def skip_to_last(name: str) -> AfterMatchSkipStrategy:
        """Matches that began before the last event of the step ``name`` are dropped."""
        return AfterMatchSkipStrategy("last", name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail if a match has no event of the name to skip to."""
        return AfterMatchSkipStrategy(self.kind, self.name, strict=True)

    @property
    def skips(self) -> bool:
        """Whether anything is ever dropped."""
        return self.kind != "no skip"

    def bound(self, match: MatchedIds) -> EventId | None:
        """The event of ``match`` before which, or with which, matches to be dropped began."""
        events = [event for events in match.values() for event in events]
        if self.kind == "next":
            return min(events)
        if self.kind == "past last":
            return max(events)
        assert self.name is not None
        named = match.get(self.name)
        if not named:
            if self.strict:
                raise ProgramError(
                    f"Could not skip to {self.name!r}: the match found has no event of that step."
                )
            return None
        found = named[0] if self.kind == "first" else named[-1]
        if self.strict and found == min(events):
            raise ProgramError(
                f"Could not skip to {self.name!r}: it is the first event of the match, which would "
                "be found again for ever."
            )
        return found

    def drops(self, start: EventId, bound: EventId) -> bool:
        """Whether a match that began with ``start`` is dropped."""
        return start <= bound if self.kind in ("next", "past last") else start < bound
