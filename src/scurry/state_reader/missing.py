"""Which states a checkpoint holds, and what to say of one that it does not."""

from __future__ import annotations

from collections.abc import Iterable

from scurry.checkpoint.epochs import Epoch
from scurry.common.errors import StateError
from scurry.common.spelling import nearest
from scurry.state.inventory import OperatorRecord


def operator_of(epoch: Epoch, uid: str, root: object) -> OperatorRecord:
    """What is known of an operator that has state; raises :class:`StateError` if there is none of
    that uid."""
    known = {each: record for each, record in epoch.inventory.items() if record.states}
    if uid in known:
        return known[uid]
    by_name = [each for each, record in known.items() if record.name == uid]
    meant = by_name[0] if by_name else nearest(uid, known)
    raise StateError(
        f"There is no operator with state and the uid {uid!r} in {root}. {_there_are(known)}"
        f"{_meant(meant)}"
    )


def no_such_state(record: OperatorRecord, uid: str, name: str, readable: Iterable[str]) -> str:
    """What to say if an operator has no state of that name."""
    known = list(readable)
    if name in record.states and name not in known:
        return (
            f"{name!r} of operator {uid!r} is not a state that a function asked for, and has no "
            "keys and values of its own. Timers are read with read_timers, windows with "
            "read_windows, operator state with read_list_state."
        )
    return (
        f"Operator {uid!r} has no state {name!r}. {_there_are(known)}{_meant(nearest(name, known))}"
    )


def _there_are(known: Iterable[str]) -> str:
    names = ", ".join(map(repr, sorted(known)))
    return f"There are: {names}." if names else "There are none."


def _meant(name: str | None) -> str:
    return "" if name is None else f" Did you mean {name!r}?"
