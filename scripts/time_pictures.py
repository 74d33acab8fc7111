"""Draws the pictures of docs/concepts/time.md, from the same numbers as its examples.

Run it after a change: ``python scripts/time_pictures.py``. A test compares what lies in the
repository with what this draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "docs" / "concepts" / "pictures"
#: Event times in order of arrival, and how far out of order they may be.
ARRIVALS = (12, 17, 14, 23, 20, 31, 18, 36, 33, 44)
BOUND = 5
LEFT, TOP, STEP, SCALE = 60, 30, 52, 6.0
INK, SOFT, LATE, MARK = "#22303c", "#8a97a3", "#c0392b", "#1f77b4"


def watermarks(times: Sequence[int], bound: int) -> list[int | None]:
    """The watermark in force before each record, and after the last one."""
    marks: list[int | None] = [None]
    for at in range(len(times)):
        marks.append(max(times[: at + 1]) - bound - 1)
    return marks


def running() -> str:
    """Event time against the order of arrival, with the running watermark as stairs."""
    marks = watermarks(ARRIVALS, BOUND)
    high = _height(50)
    parts = list(_axes(len(ARRIVALS), 50, "order of arrival", "event time"))
    for at, mark in enumerate(marks[1:], start=1):
        if mark is None:
            continue
        x = LEFT + at * STEP
        end = x + STEP if at < len(ARRIVALS) else x + STEP // 2
        parts.append(_line(x, high(mark), end, high(mark), MARK, 2))
        before = marks[at - 1]
        if before is not None and before != mark:
            parts.append(_line(x, high(before), x, high(mark), MARK, 2))
    for at, time in enumerate(ARRIVALS):
        mark = marks[at]
        late = mark is not None and time <= mark
        x = LEFT + at * STEP + STEP / 2
        parts.append(_dot(x, high(time), LATE if late else INK))
        parts.append(_text(x + 9, high(time) + 4, f"{time}{' late' if late else ''}", INK))
    parts.append(_text(LEFT + 6.6 * STEP, high(12), f"watermark: highest - {BOUND} - 1", MARK))
    return _svg(LEFT + (len(ARRIVALS) + 1) * STEP, high(0) + 40, parts)


def partitions() -> str:
    """Two partitions and what their consumer sees: the lower of the two watermarks."""
    first, second = (6, 12, 18, 40, 50, 58), (14, 20, 24, 28, 32, 44)
    high = _height(60)
    parts = list(_axes(6, 60, "order of arrival", "watermark"))
    for times, name, color in ((first, "partition 0", SOFT), (second, "partition 1", SOFT)):
        marks = [time - 1 for time in times]
        parts.extend(_stairs(marks, high, color, 2))
        parts.append(_text(LEFT + 6 * STEP + 6, high(marks[-1]) + 4, name, color))
    combined = [min(a, b) - 1 for a, b in zip(first, second, strict=True)]
    parts.extend(_stairs(combined, high, MARK, 4))
    parts.append(_text(LEFT + 6 * STEP + 6, high(combined[-1]) + 20, "the operator's", MARK))
    return _svg(LEFT + 8 * STEP + 30, high(0) + 40, parts)


def cuts() -> str:
    """The same records cut in two ways: the watermark before each record is the same."""
    marks = watermarks(ARRIVALS, BOUND)
    parts: list[str] = []
    for row, sizes in enumerate(((10,), (3, 4, 3))):
        y = TOP + 20 + row * 90
        at = 0
        for size in sizes:
            x = LEFT + at * STEP
            parts.append(
                f'<rect x="{x + 2}" y="{y}" width="{size * STEP - 4}" height="52" rx="6" '
                f'fill="none" stroke="{SOFT}"/>'
            )
            for number in range(at, at + size):
                mark = marks[number]
                middle = LEFT + number * STEP + STEP / 2
                parts.append(_text(middle, y + 22, str(ARRIVALS[number]), INK, "middle"))
                shown = "none" if mark is None else str(mark)
                parts.append(_text(middle, y + 42, shown, MARK, "middle"))
            at += size
        label = "one micro-batch" if len(sizes) == 1 else f"{len(sizes)} micro-batches"
        parts.append(_text(LEFT, y - 8, label, SOFT))
    return _svg(LEFT + len(ARRIVALS) * STEP + 20, TOP + 190, parts)


def _height(most: int) -> _Scale:
    return _Scale(TOP + most * SCALE)


class _Scale:
    """From a value to its height in the picture."""

    def __init__(self, base: float) -> None:
        self._base = base

    def __call__(self, value: float) -> float:
        return self._base - value * SCALE


def _stairs(marks: Sequence[int], high: _Scale, color: str, width: int) -> Iterable[str]:
    for at, mark in enumerate(marks):
        x = LEFT + at * STEP
        yield _line(x, high(mark), x + STEP, high(mark), color, width)
        if at:
            yield _line(x, high(marks[at - 1]), x, high(mark), color, width)


def _axes(columns: int, most: int, across: str, up: str) -> Iterable[str]:
    high = _height(most)
    yield _line(LEFT, high(0), LEFT + columns * STEP + 20, high(0), SOFT, 1)
    yield _line(LEFT, high(0), LEFT, TOP, SOFT, 1)
    yield _text(LEFT + columns * STEP / 2, high(0) + 26, across, SOFT, "middle")
    yield _text(LEFT - 50, TOP - 10, up, SOFT)
    for value in range(0, most + 1, 10):
        yield _text(LEFT - 8, high(value) + 4, str(value), SOFT, "end")


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: int) -> str:
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" '
        f'stroke="{color}" stroke-width="{width}"/>'
    )


def _dot(x: float, y: float, color: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="{color}"/>'


def _text(x: float, y: float, text: str, color: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}">{text}</text>'


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


DRAWN = {"running.svg": running, "partitions.svg": partitions, "cuts.svg": cuts}


def main() -> None:
    """Draw all pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / name).write_text(draw())


if __name__ == "__main__":
    main()
