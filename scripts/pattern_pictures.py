"""Draws the pictures of docs/howto/patterns.md: which matches a pattern has in a few events.

The matches are those that the automaton finds. Run it after a change:
``python scripts/pattern_pictures.py``. A test compares what lies in the repository with what this
draws.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scurry.automaton.automaton import Automaton
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.pattern import Pattern
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy

PICTURES = Path(__file__).parents[1] / "docs" / "howto" / "pictures"
LEFT, TOP, STEP, ROW = 230, 42, 62, 34
INK, SOFT, TAKEN = "#22303c", "#c5ccd3", "#1f77b4"
#: A way to write a pattern, as text and as the pattern itself.
Way = tuple[str, Callable[[], Pattern]]


def _is(letter: str) -> Callable[[str], bool]:
    return lambda event: event[0] == letter


def _a() -> Pattern:
    return Pattern.begin("a").where(_is("a"))


def _ab() -> Pattern:
    return _a().followed_by("b").where(_is("b"))


CONTIGUITY: list[Way] = [
    ("a.next(b)", lambda: _a().next("b").where(_is("b"))),
    ("a.followed_by(b)", _ab),
    ("a.followed_by_any(b)", lambda: _a().followed_by_any("b").where(_is("b"))),
    ("a.not_next(c).followed_by(b)", lambda: (
        _a().not_next("c").where(_is("c")).followed_by("b").where(_is("b")))),
    ("a.not_followed_by(c).followed_by(b)", lambda: (
        _a().not_followed_by("c").where(_is("c")).followed_by("b").where(_is("b")))),
]  # fmt: skip
LOOPS: list[Way] = [
    ("b.one_or_more().consecutive()", lambda: _looped(_ab().one_or_more().consecutive())),
    ("b.one_or_more()", lambda: _looped(_ab().one_or_more())),
    ("b.one_or_more().allow_combinations()", lambda: (
        _looped(_ab().one_or_more().allow_combinations()))),
    ("b.one_or_more().greedy()", lambda: _looped(_ab().one_or_more().greedy())),
]  # fmt: skip
SKIPS: list[Way] = [
    ("no_skip()", lambda: _skipping(AfterMatchSkipStrategy.no_skip())),
    ("skip_to_next()", lambda: _skipping(AfterMatchSkipStrategy.skip_to_next())),
    ("skip_past_last_event()", lambda: _skipping(AfterMatchSkipStrategy.skip_past_last_event())),
    ('skip_to_first("b")', lambda: _skipping(AfterMatchSkipStrategy.skip_to_first("b"))),
    ('skip_to_last("b")', lambda: _skipping(AfterMatchSkipStrategy.skip_to_last("b"))),
]


def _looped(pattern: Pattern) -> Pattern:
    return pattern.followed_by("d").where(_is("d"))


def _skipping(skip: AfterMatchSkipStrategy) -> Pattern:
    begun = Pattern.begin("b", skip).where(_is("b")).one_or_more().consecutive()
    return begun.next("c").where(_is("c"))


def matches(pattern: Pattern, events: list[str]) -> list[set[str]]:
    """The events of each match, in the order in which matches are found."""
    automaton = Automaton(compile_pattern(pattern))
    state, found = automaton.begin(), []
    for time, event in enumerate(events):
        step = automaton.process(state, event, time, lambda: 0)
        state = step.state
        found += [{one for taken in match.values() for one in taken} for match in step.matches]
    return found


def picture(ways: list[Way], events: list[str]) -> str:
    """The matches of several patterns in the same events, one below the other."""
    parts = [
        _text(LEFT + at * STEP, TOP - 16, event, INK, "middle") for at, event in enumerate(events)
    ]
    y = TOP
    for name, make in ways:
        parts.append(_text(10, y + 18, name, INK, "start"))
        found = matches(make(), events)
        for taken in found:
            parts += _row(taken, events, y + 14)
            y += ROW
        if not found:
            parts.append(_text(LEFT - 8, y + 18, "no match", SOFT, "start"))
            y += ROW
        parts.append(_line(10, y - 4, LEFT + len(events) * STEP, y - 4, SOFT, 1))
        y += 6
    width, height = LEFT + len(events) * STEP, y + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _row(taken: set[str], events: list[str], y: int) -> list[str]:
    places = [LEFT + at * STEP for at, event in enumerate(events) if event in taken]
    drawn = [_line(places[0], y, places[-1], y, TAKEN, 2)]
    for at, event in enumerate(events):
        x = LEFT + at * STEP
        fill = TAKEN if event in taken else "white"
        edge = TAKEN if event in taken else SOFT
        drawn.append(f'<circle cx="{x}" cy="{y}" r="8" fill="{fill}" stroke="{edge}"/>')
    return drawn


def _line(x1: int, y1: int, x2: int, y2: int, color: str, width: int) -> str:
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="{width}"/>'
    )


def _text(x: int, y: int, text: str, color: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{color}" text-anchor="{anchor}">{text}</text>'


def pictures() -> dict[str, str]:
    """All pictures by the names of their files."""
    return {
        "contiguity.svg": picture(CONTIGUITY, ["a1", "b1", "a2", "x", "c", "b2", "b3"]),
        "loops.svg": picture(LOOPS, ["a", "b1", "b2", "c", "b3", "d"]),
        "skips.svg": picture(SKIPS, ["b1", "b2", "b3", "c"]),
    }


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, drawn in pictures().items():
        (PICTURES / name).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
