"""Errors about queries that could be parsed: each shows its place in the text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import Span, located

if TYPE_CHECKING:
    from collections.abc import Iterator


class SqlValidationError(ProgramError):
    """A query that means nothing: an unknown name, types that do not fit, an aggregate at the wrong
    place."""

    def __init__(self, message: str, span: Span, advice: str = "") -> None:
        self.reason, self.span, self.advice = message, span, advice
        super().__init__(located(message, span, advice))

    def __reduce__(self) -> tuple[type[SqlValidationError], tuple[str, Span, str]]:
        return SqlValidationError, (self.reason, self.span, self.advice)


class SqlNotSupportedError(NotSupportedError):
    """A query that Flink may run, but Scurry does not; the advice says what can be done instead."""

    def __init__(self, message: str, span: Span, advice: str = "") -> None:
        self.reason, self.span, self.advice = message, span, advice
        super().__init__(located(message, span, advice))

    def __reduce__(self) -> tuple[type[SqlNotSupportedError], tuple[str, Span, str]]:
        return SqlNotSupportedError, (self.reason, self.span, self.advice)


def unknown(
    kind: str, name: str, known: Iterable[str], span: Span, last: str = ""
) -> SqlValidationError:
    """The error for a name that does not exist, with the nearest ones that do; ``last`` is the
    part of the name that is not known."""
    names = list(dict.fromkeys(known))
    lowered = {one.lower(): one for one in reversed(names)}
    near = difflib.get_close_matches((last or name).lower(), list(lowered), 3, 0.6)
    if near:
        advice = f"Did you mean {_either([lowered[one] for one in near])}?"
    elif names:
        advice = f"There is {_either(names[:8], 'and')}."
    else:
        advice = ""
    return SqlValidationError(f"There is no {kind} {name}", span, advice)


def _either(names: list[str], word: str = "or") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


@contextmanager
def at(span: Span) -> Iterator[None]:
    """Gives errors of the function catalogue, which knows no texts, the place ``span``."""
    try:
        yield
    except (SqlValidationError, SqlNotSupportedError):
        raise
    except NotSupportedError as error:
        raise SqlNotSupportedError(_sentence(error), span) from None
    except ProgramError as error:
        raise SqlValidationError(_sentence(error), span) from None


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
