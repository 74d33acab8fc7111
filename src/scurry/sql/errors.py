"""What is raised for a text that is not SQL."""

from __future__ import annotations

from scurry.common.errors import ProgramError
from scurry.common.spans import Span, located


class SqlParserError(ProgramError):
    """A text cannot be parsed. ``span`` is the offending place, ``expected`` what could have stood
    there, if the parser can name it."""

    def __init__(
        self, message: str, span: Span, expected: tuple[str, ...] = (), advice: str = ""
    ) -> None:
        self.reason = message
        self.span = span
        self.expected = expected
        self.advice = advice
        super().__init__(located(message, span, advice))

    def __reduce__(self) -> tuple[type[SqlParserError], tuple[str, Span, tuple[str, ...], str]]:
        return SqlParserError, (self.reason, self.span, self.expected, self.advice)

    @property
    def line(self) -> int:
        """The line of the offending place, from 1."""
        return self.span.line

    @property
    def column(self) -> int:
        """The column of the offending place, from 1."""
        return self.span.column
