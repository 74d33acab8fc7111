"""Which batches belong together: the history of a checkpoint.

The number of a micro-batch does not say which batch it is. Whoever puts an older copy of a
checkpoint back goes on with *other* batches under numbers that sinks have seen before. So every
start of a driver opens a new *branch*, with a random token, and a batch is known by its number
together with the token of the branch in which it was planned. The history of a checkpoint is the
list of its branches, each with the number of its first batch; it is stored with the plan of every
batch, so a batch that is repeated after a crash has the identity that it had before. A sink stores
the identity of the batch it has committed last, its :class:`Mark`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from scurry.common.errors import OtherHistoryError
from scurry.common.options.execution import ON_OTHER_HISTORY

#: Digits of a token; as a number it fits into 63 bits, which some targets need.
_DIGITS = 15
#: The most branches that are remembered; each is one start of the driver that got something done.
_MOST_BRANCHES = 200

#: What happens when a sink has committed batches that the checkpoint does not know.
CHOICES = ON_OTHER_HISTORY.choices
REFUSE, TRUNCATE, APPEND = CHOICES


class Branch(msgspec.Struct, frozen=True):
    """The batches from ``first`` on that one driver planned, until the next branch begins. Those
    of checkpoints from before there were branches have the token ``""``."""

    token: str
    first: int


@dataclass(frozen=True)
class Mark:
    """What a sink remembers of the batch that it has committed last."""

    batch: int
    #: the token of the batch's branch, empty if it was committed before there were branches
    branch: str = ""
    #: when it was committed, in milliseconds since 1970, if the target knows
    when: int | None = None


class History:
    """The batches of a checkpoint, as of now."""

    def __init__(
        self, branches: Sequence[Branch] = (), planned: int = -1, last: int | None = None
    ) -> None:
        #: the last batch that was committed when the job started
        self.last = planned if last is None else last
        #: the last batch that has a plan: one more than ``last`` if it has to be repeated
        self.planned = planned
        self.branches = list(branches)
        if not branches and planned >= 0:
            self.branches = [Branch("", 0)]
        self._token = uuid.uuid4().hex[:_DIGITS]

    def plan(self, batch: int) -> None:
        """A batch is planned by this driver."""
        self.planned = batch
        if not self.branches or self.branches[-1].token != self._token:
            before = [branch for branch in self.branches if branch.first < batch]
            self.branches = [*before, Branch(self._token, batch)][-_MOST_BRANCHES:]

    def token(self, batch: int) -> str:
        """The token of the branch that ``batch`` belongs to."""
        found = [branch.token for branch in self.branches if branch.first <= batch]
        return found[-1] if found else ""

    def mark(self, batch: int, when: int | None = None) -> Mark:
        """The identity of ``batch``."""
        return Mark(batch, self.token(batch), when)

    def holds(self, mark: Mark) -> bool:
        """Whether a batch that was committed once is one of this history. Of batches that are
        older than all branches it remembers, a history cannot tell, and says yes."""
        if mark.batch < 0:
            return True
        if mark.batch > self.planned:
            return False
        return mark.batch < self.branches[0].first or self.token(mark.batch) == mark.branch

    def repeats(self, batch: int, mark: Mark | None) -> bool:
        """Whether ``batch``, about to be committed, is in the target already, where ``mark`` was
        found; raises if the target holds batches of another history."""
        if mark is None:
            return False
        if not self.holds(mark):
            raise OtherHistoryError(
                f"The target has micro-batch {mark.batch} of another history of this checkpoint, "
                f"found while number {batch} was to be committed: somebody else has gone on from a "
                "copy of the checkpoint, or is doing so now. End the other job; then start this "
                "one again, which says what the choices are."
            )
        return mark.batch >= batch

    def common(self, mark: Mark) -> Mark:
        """The last batch that this history shares with the one that ends with ``mark``, as far as
        can be told: for certain, all that was committed when the job started."""
        last = min(mark.batch, self.planned)
        same = last > self.last and self.token(last) == mark.branch
        return self.mark(last if same else self.last)


class NumbersOnly(History):
    """Stands for a history where there is none, as in tests of a sink alone: a batch is known by
    its number."""

    def token(self, batch: int) -> str:
        return ""

    def holds(self, mark: Mark) -> bool:
        return True
