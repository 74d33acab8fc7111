"""Places in a text: what lets an error point at the words it is about.

Every node of a syntax tree has a :class:`Span`, and a span knows its text, so whoever finds a
mistake in a node, however late, can show the line with a caret below it. A node that was built by a
Python program (an expression of the Table API) has no SQL text: the name of its source is then the
file and line of that program.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.text_width import width_of

#: a line longer than this is shown in part, so that it fits a terminal of 80 columns
_WIDTH = 76
#: a message longer than this has a name or a constant in it that nobody reads to its end
_LONGEST = 800


@dataclass(frozen=True, eq=False)
class SourceText:
    """A text that was parsed, and where it came from: nothing for a statement, otherwise a name
    such as ``view `v` `` or ``app.py:12``."""

    text: str
    name: str = ""

    def __reduce__(self) -> tuple[type[SourceText], tuple[str, str]]:
        return SourceText, (self.text, self.name)


NO_TEXT = SourceText("")


@dataclass(frozen=True)
class Span:
    """From ``start`` up to, but not including, ``end``: offsets into a text."""

    source: SourceText
    start: int
    end: int

    @property
    def text(self) -> str:
        """The words themselves."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """The line of the first character, counted from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column of the first character, counted from 1."""
        return self.start - self.source.text.rfind("\n", 0, self.start)

    def to(self, last: Span) -> Span:
        """From the start of this one to the end of ``last``."""
        return Span(self.source, self.start, max(self.end, last.end))

    def where(self) -> str:
        """The place in words: ``line 2, column 8``, with the name of the source if it has one."""
        if not self.source.text:
            return self.source.name
        place = f"line {self.line}, column {self.column}"
        return f"{self.source.name}, {place}" if self.source.name else place

    def excerpt(self) -> str:
        """The line, and below it a caret under each of the span's characters; empty if there is
        no text."""
        if not self.source.text:
            return ""
        begin = self.source.text.rfind("\n", 0, self.start) + 1
        line = self.source.text[begin:].split("\n", 1)[0].rstrip("\r")
        before, marked = self.start - begin, min(self.end, begin + len(line)) - self.start
        cut = max(0, before - _WIDTH // 2)
        shown = line[cut : cut + _WIDTH]
        ahead, under = shown[: before - cut], shown[before - cut :][: max(0, marked)]
        pad = "".join("\t" if sign == "\t" else " " * width_of(sign) for sign in ahead)
        return f"  {shown}\n  {pad}{'^' * max(1, width_of(under))}"


#: the span of what nobody wrote
NOWHERE = Span(NO_TEXT, 0, 0)


def located(message: str, span: Span, advice: str = "") -> str:
    """The message of an error about ``span``: what is wrong, where, the line with carets, and what
    to do."""
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}... ({len(message)} characters)"
    where = span.where()
    parts = [f"{message} ({where})" if where else message, span.excerpt(), advice]
    return "\n".join(part for part in parts if part)
