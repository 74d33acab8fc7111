"""Operators that automatic uids cannot tell apart, and what happens when a program changes them.

Such operators, *twins*, are numbered in the order of the program (:mod:`scurry.compile.uids`). If
a twin is inserted or removed, or two of them change places, the numbers would give the state of one
to another. Two things show that this has happened: the number of twins has changed, or a number now
belongs to other code (key, window, functions). If two twins are written exactly alike, nothing
shows that they have changed places.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from scurry.common.errors import StateError
from scurry.state.inventory import OperatorRecord

Records = Mapping[str, OperatorRecord]


def refuse_mixed_up(now: Records, before: Records, holders: Container[str], place: str) -> None:
    """Raise :class:`StateError` if the state of twins could get to the wrong one; ``holders`` are
    the operators that have any."""
    for family in sorted({record.family for record in now.values() if record.family}):
        twins = {uid: record for uid, record in now.items() if record.family == family}
        known = {
            uid: record
            for uid, record in before.items()
            if record.family == family and not (uid in now and not now[uid].family)
        }
        holding = any(uid in holders for uid in known)
        if holding and (len(twins) != len(known) or _moved(twins, known)):
            raise StateError(_ambiguous(twins, known, place))


def _moved(twins: Records, known: Records) -> bool:
    """Whether the code of one twin is now found under the number of another."""
    for uid, record in twins.items():
        others = {known[other].fingerprint for other in known if other != uid}
        same = uid in known and known[uid].fingerprint == record.fingerprint
        if not same and record.fingerprint in others:
            return True
    return False


def _ambiguous(twins: Records, known: Records, place: str) -> str:
    return "\n".join(
        [
            f"The checkpoint in {place} holds state of operators that have no uid of their own and "
            "cannot be told apart:",
            *(_line(uid, record) for uid, record in known.items()),
            "In this program they are other ones, or in another order:",
            *(_line(uid, record) for uid, record in twins.items()),
            "Nobody can know whose state is whose. Give each of those that were there before its "
            f"uid, such as .uid({next(iter(known))!r}).",
        ]
    )


def _line(uid: str, record: OperatorRecord) -> str:
    return f"  - {record.name!r} (uid {uid!r}, {record.location})"
