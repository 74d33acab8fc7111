"""What is known of one pattern: what holds now, and documents that will hold later.

This is an entry of broadcast state. In event time a document waits until the watermark has passed
its timestamp: events of earlier times, which may still come, know nothing of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scurry.automaton.errors import MalformedPatternError
from scurry.cep.pattern_json import PatternDocument
from scurry.cep.updates import PatternUpdate


class HeldPattern(msgspec.Struct, frozen=True):
    """A pattern: its last version, and versions that are replaced and whose partial matches go on.
    ``pattern`` is None once it is removed. Its version is known for ever, so that a document that
    comes too late does not bring it back."""

    version: int
    pattern: PatternDocument | None
    enabled: bool = True
    keys: list[Any] | None = None
    finishing: list[tuple[int, PatternDocument, list[Any] | None]] = []

    def replaced(self) -> list[tuple[int, PatternDocument, list[Any] | None]]:
        """The versions that go on if the next one lets them."""
        if self.pattern is None or not self.enabled:
            return self.finishing
        return [*self.finishing, (self.version, self.pattern, self.keys)]


def updated(held: HeldPattern | None, update: PatternUpdate) -> HeldPattern | None:
    """What holds after a document, None if the document comes too late."""
    if held is not None and update.version <= held.version:
        return None
    pattern, keys = update.pattern, update.keys
    if update.action in ("disable", "enable"):
        if held is None or held.pattern is None:
            raise MalformedPatternError(
                f"id: there is no pattern {update.id!r} to {update.action}."
            )
        pattern, keys = held.pattern, held.keys
    goes_on = held is not None and update.partial_matches == "finish"
    return HeldPattern(
        update.version,
        pattern,
        update.action in ("put", "enable"),
        keys,
        held.replaced() if held is not None and goes_on else [],
    )


class PatternHistory(msgspec.Struct, frozen=True):
    """``held`` holds now; ``later`` are documents with the times from which on they hold, in
    order."""

    held: HeldPattern | None = None
    later: list[tuple[int, PatternUpdate]] = []
    #: the version of this form
    format: int = 1

    @staticmethod
    def read(text: str | None) -> PatternHistory:
        """What :meth:`written` has written; nothing is known without it."""
        return PatternHistory() if text is None else msgspec.json.decode(text, type=PatternHistory)

    def written(self) -> str:
        """The form in which state has it."""
        return msgspec.json.encode(self).decode()

    def at(self, time: int) -> HeldPattern | None:
        """What holds for events of a time."""
        held = self.held
        for since, update in self.later:
            if since > time:
                break
            held = _tried(held, update)
        return held

    def passed(self, time: int) -> PatternHistory:
        """The same, once no event of that time or before will be looked at."""
        later = [(since, update) for since, update in self.later if since > time]
        return PatternHistory(self.at(time), later)

    def after(self, update: PatternUpdate, since: int) -> PatternHistory | None:
        """The same with another document, which holds from a time on; None if it comes too late,
        because a higher version holds by then."""
        if updated(self.at(since), update) is None:
            return None
        before = [one for one in self.later if one[0] <= since]
        return PatternHistory(self.held, [*before, (since, update), *self.later[len(before) :]])


def _tried(held: HeldPattern | None, update: PatternUpdate) -> HeldPattern | None:
    """What holds after a document that was good when it came. One that came later, and holds
    earlier, may have taken its ground away: then it changes nothing."""
    try:
        return updated(held, update) or held
    except MalformedPatternError:
        return held
