"""Patterns as data: a form in JSON that can be kept, sent, and read again.

Such a pattern says all that :class:`~scurry.automaton.pattern.Pattern` can say, but its conditions
are expressions only, so it holds no code. The structures below are the schema: field by field, with
what may be left out, and whatever they do not have is refused.

>>> from scurry.cep import Pattern, pattern_to_json
>>> pattern_to_json(Pattern.begin("low").where("price < 10").next("high"))
'{"steps":[{"name":"low","where":"price < 10"},{"name":"high","after":"next"}]}'
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from scurry.automaton.conditions import And, Condition, Expressed, Or
from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.pattern import GroupPattern, Pattern, WithinType
from scurry.automaton.quantifier import ConsumingStrategy, Times
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.cep.expression_texts import expression_text

__all__ = ["PatternDocument", "pattern_from_json", "pattern_to_json"]

#: The automaton has a state for each time that a step occurs, so documents have a bound.
_MOST_TIMES = 1000
_AFTER = {
    ConsumingStrategy.STRICT: "next",
    ConsumingStrategy.SKIP_TILL_NEXT: "followed_by",
    ConsumingStrategy.SKIP_TILL_ANY: "followed_by_any",
    ConsumingStrategy.NOT_NEXT: "not_next",
    ConsumingStrategy.NOT_FOLLOW: "not_followed_by",
}
_BETWEEN = {
    ConsumingStrategy.STRICT: "consecutive",
    ConsumingStrategy.SKIP_TILL_NEXT: None,
    ConsumingStrategy.SKIP_TILL_ANY: "combinations",
}
_SKIPS = {
    "no skip": "no_skip",
    "next": "skip_to_next",
    "past last": "skip_past_last_event",
    "first": "skip_to_first",
    "last": "skip_to_last",
}


class _Document(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What all parts of a document have in common: fields that they do not know are refused."""


class TimesDocument(_Document, frozen=True):
    """How often a step occurs: at least, and at most; without bound if ``most`` is missing.
    ``within_ms`` is how long may lie between two of them."""

    least: Annotated[int, msgspec.Meta(ge=0, le=_MOST_TIMES)]
    most: Annotated[int, msgspec.Meta(ge=1, le=_MOST_TIMES)] | None = None
    within_ms: int | None = None


class StepDocument(_Document, frozen=True):
    """A step with a ``name``, or a ``group`` of steps.

    ``after`` says how it follows the step before, by the name of the method; the first step has
    none. ``where`` and ``until`` are expressions. ``between`` is what may lie between the events of
    a step that occurs several times. ``within_ms`` is the time since the event before.
    """

    name: str | None = None
    group: list[StepDocument] | None = None
    after: (
        Literal["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"] | None
    ) = None
    where: str | None = None
    until: str | None = None
    times: TimesDocument | None = None
    between: Literal["consecutive", "combinations"] | None = None
    optional: bool = False
    greedy: bool = False
    within_ms: int | None = None


class SkipDocument(_Document, frozen=True):
    """What happens to other matches when one is found, by the name of the method of
    AfterMatchSkipStrategy; ``step`` is the step to skip to."""

    strategy: Literal[
        "no_skip", "skip_to_next", "skip_past_last_event", "skip_to_first", "skip_to_last"
    ]
    step: str | None = None
    throw_exception_on_miss: bool = False


class PatternDocument(_Document, frozen=True):
    """A pattern; ``within_ms`` is how long a match may take at most."""

    steps: list[StepDocument]
    skip: SkipDocument | None = None
    within_ms: int | None = None


def pattern_to_json(pattern: Pattern) -> str:
    """A pattern as JSON; raises MalformedPatternError if a condition is a function."""
    return msgspec.json.encode(document_of(pattern)).decode()


def pattern_from_json(text: str | bytes) -> Pattern:
    """The pattern that :func:`pattern_to_json` has written, or anybody else; raises
    MalformedPatternError, which says where in the document something is wrong."""
    return pattern_of(decoded(text, PatternDocument, "a pattern"))


def decoded(text: Any, kind: Any, what: str) -> Any:
    """A document of a kind, from JSON or from what JSON stands for."""
    try:
        if isinstance(text, str | bytes | bytearray):
            return msgspec.json.decode(text, type=kind)
        return msgspec.convert(text, type=kind)
    except (msgspec.MsgspecError, RecursionError) as failure:
        raise MalformedPatternError(f"The document is not {what}: {failure}.") from None


# --- from a document to a pattern


def pattern_of(document: PatternDocument) -> Pattern:
    """The pattern that a document describes."""
    if (size := _size(document.steps)) > _MOST_TIMES:
        raise MalformedPatternError(
            f"steps: the pattern has {size} steps if each is counted as often as it occurs, and "
            f"may have at most {_MOST_TIMES}."
        )
    pattern = _chain(document.steps, _skip_of(document.skip), "steps")
    return pattern if document.within_ms is None else pattern.within(document.within_ms)


def _size(steps: list[StepDocument]) -> int:
    """How many steps there are, each counted as often as it occurs at most."""
    found = 0
    for step in steps:
        times = 1 if step.times is None else max(step.times.least, step.times.most or 1)
        found += times * (1 if step.group is None else _size(step.group))
    return found


def _skip_of(skip: SkipDocument | None) -> AfterMatchSkipStrategy | None:
    if skip is None:
        return None
    named = skip.strategy in ("skip_to_first", "skip_to_last")
    if named != (skip.step is not None):
        needs = "needs the step to skip to" if named else "has no step to skip to"
        raise MalformedPatternError(f"skip: the strategy {skip.strategy} {needs}.")
    made = getattr(AfterMatchSkipStrategy, skip.strategy)(*([skip.step] if named else []))
    found: AfterMatchSkipStrategy = made
    return found.throw_exception_on_miss() if skip.throw_exception_on_miss else found


def _chain(steps: list[StepDocument], skip: AfterMatchSkipStrategy | None, where: str) -> Pattern:
    if not steps:
        raise MalformedPatternError(f"{where}: there must be at least one step.")
    pattern: Pattern | None = None
    for number, step in enumerate(steps):
        place = f"{where}[{number}]"
        try:
            pattern = _added(pattern, step, skip, place)
        except MalformedPatternError as failure:
            told = str(failure)
            raise MalformedPatternError(
                told if told.startswith(where) else f"{place}: {told}"
            ) from None
    assert pattern is not None
    return pattern


def _added(
    before: Pattern | None, step: StepDocument, skip: AfterMatchSkipStrategy | None, place: str
) -> Pattern:
    if (step.name is None) == (step.group is None):
        raise MalformedPatternError("a step has either a name or a group of steps.")
    if (before is None) != (step.after is None):
        missing = "the first step follows none" if before is None else "say what it comes after how"
        raise MalformedPatternError(f"after: {missing}.")
    if step.group is not None and step.after in ("not_next", "not_followed_by"):
        raise MalformedPatternError("after: a group of steps cannot be what must not occur.")
    inner: Any = step.name
    if step.group is not None:
        inner = _chain(step.group, None, f"{place}.group")
    made = Pattern.begin(inner, skip) if before is None else getattr(before, str(step.after))(inner)
    return _described(made, step)


def _described(made: Pattern, step: StepDocument) -> Pattern:
    if step.where is not None:
        made.where(step.where)
    if (times := step.times) is not None:
        if times.most is None:
            made.times_or_more(times.least, times.within_ms)
        else:
            made.times(times.least, times.most, times.within_ms)
    if step.between == "consecutive":
        made.consecutive()
    elif step.between == "combinations":
        made.allow_combinations()
    if step.greedy:
        made.greedy()
    if step.optional:
        made.optional()
    if step.until is not None:
        made.until(step.until)
    if step.within_ms is not None:
        made.within(step.within_ms, WithinType.PREVIOUS_AND_CURRENT)
    return made


# --- from a pattern to a document


def document_of(pattern: Pattern) -> PatternDocument:
    """The document of a pattern."""
    skip = pattern.get_after_match_skip_strategy()
    kept = SkipDocument(_SKIPS[skip.kind], skip.name, skip.strict)  # type: ignore[arg-type]
    windows = [found for one in _steps(pattern) if (found := one.get_window_size()) is not None]
    within = min(windows, default=None)
    return PatternDocument(_written(pattern), kept if skip.skips else None, within)


def _steps(pattern: Pattern | None) -> list[Pattern]:
    """All steps, those of groups included."""
    found: list[Pattern] = []
    while pattern is not None:
        found.append(pattern)
        if isinstance(pattern, GroupPattern):
            found += _steps(pattern.group)
        pattern = pattern.get_previous()
    return found


def _written(pattern: Pattern | None) -> list[StepDocument]:
    chain: list[StepDocument] = []
    while pattern is not None:
        chain.append(_step(pattern))
        pattern = pattern.get_previous()
    return chain[::-1]


def _step(step: Pattern) -> StepDocument:
    quantifier, grouped = step.get_quantifier(), isinstance(step, GroupPattern)
    after = None if step.get_previous() is None else _AFTER[quantifier.consuming]
    until = step.get_until_condition()
    repeated = quantifier.kind != "single"
    return StepDocument(
        name=None if grouped else step.get_name(),
        group=_written(step.group) if isinstance(step, GroupPattern) else None,
        after=after,  # type: ignore[arg-type]
        where=None if step._condition is None else _text(step._condition, step),
        until=None if until is None else _text(until, step),
        times=_times(quantifier.times, quantifier.kind == "looping"),
        between=_BETWEEN[quantifier.inner] if repeated else None,  # type: ignore[arg-type]
        optional=quantifier.optional,
        greedy=quantifier.greedy,
        within_ms=step.get_window_size(WithinType.PREVIOUS_AND_CURRENT),
    )


def _times(times: Times | None, looping: bool) -> TimesDocument | None:
    if times is None:
        return None
    return TimesDocument(times.least, None if looping else times.most, times.window)


def _text(condition: Condition, step: Pattern) -> str:
    if isinstance(condition, And | Or):
        word = "AND" if isinstance(condition, And) else "OR"
        return f"({_text(condition.left, step)}) {word} ({_text(condition.right, step)})"
    if not isinstance(condition, Expressed):
        raise MalformedPatternError(
            f"A condition of the step {step.get_name()!r} is a function, and a pattern as JSON has "
            'expressions only, such as "price > 10".'
        )
    return expression_text(condition)
