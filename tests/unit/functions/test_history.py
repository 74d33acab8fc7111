"""Which batches belong to the history of a checkpoint."""

from __future__ import annotations

import pytest

from scurry.common.errors import OtherHistoryError
from scurry.functions.history import Branch, History, Mark, NumbersOnly

BRANCHES = [Branch("a", 0), Branch("b", 4), Branch("c", 7)]


def test_a_batch_is_known_by_its_number_and_its_branch() -> None:
    history = History(BRANCHES, planned=8, last=8)
    held = {(n, t) for n in range(12) for t in "abcx" if history.holds(Mark(n, t))}
    assert held == {(n, "a") for n in range(4)} | {(n, "b") for n in (4, 5, 6)} | {
        (7, "c"),
        (8, "c"),
    }
    assert history.holds(Mark(-1))
    assert History().holds(Mark(-1))
    assert not History().holds(Mark(0, "a"))


def test_each_driver_that_plans_a_batch_opens_a_branch() -> None:
    first = History()
    first.plan(0)
    first.plan(1)
    assert [branch.first for branch in first.branches] == [0]
    again = History(first.branches, planned=1, last=1)
    assert again.branches == first.branches
    again.plan(2)
    assert [branch.first for branch in again.branches] == [0, 2]
    assert len({branch.token for branch in again.branches}) == 2
    # a plan that never came to be executed is replaced by that of the next driver
    third = History(again.branches, planned=1, last=1)
    third.plan(2)
    assert [branch.first for branch in third.branches] == [0, 2]
    assert third.token(2) != again.token(2)
    assert third.token(1) == again.token(1) == first.token(1)
    # tokens are numbers of fewer than 63 bits, for targets that store numbers
    assert all(0 < int(branch.token, 16) < 1 << 62 for branch in third.branches)


def test_a_batch_that_is_repeated_has_the_identity_that_it_had() -> None:
    first = History()
    first.plan(0)
    again = History(first.branches, planned=0, last=-1)
    assert again.mark(0) == first.mark(0)
    assert again.repeats(0, first.mark(0))
    assert not again.repeats(0, None)
    again.plan(1)
    assert not again.repeats(1, first.mark(0))
    with pytest.raises(OtherHistoryError, match=r"micro-batch 1 of another history.*number 1 was"):
        again.repeats(1, Mark(1, "somebody else's"))


def test_only_so_many_branches_are_remembered() -> None:
    history = History()
    for batch in range(300):
        history = History(history.branches, planned=batch - 1, last=batch - 1)
        history.plan(batch)
    assert len(history.branches) == 200
    # what is older cannot be told any more
    assert history.holds(Mark(50, "forgotten"))
    assert not history.holds(Mark(150, "wrong"))


def test_what_two_histories_have_in_common() -> None:
    history = History(BRANCHES, planned=8, last=7)
    # the planned batch is of the same branch, so the other history has it
    assert history.common(Mark(12, "c")) == Mark(8, "c")
    # of another branch it is not known
    assert history.common(Mark(12, "x")) == Mark(7, "c")
    assert history.common(Mark(5, "x")) == Mark(7, "c")
    assert History().common(Mark(5, "x")) == Mark(-1)


def test_checkpoints_from_before_there_were_branches_have_one_without_a_token() -> None:
    history = History([], planned=5, last=5)
    assert history.holds(Mark(5))
    assert not history.holds(Mark(6))
    assert not history.holds(Mark(5, "x"))
    history.plan(6)
    assert history.token(5) == ""
    assert history.token(6) != ""
    assert history.holds(Mark(3))
    assert not history.holds(Mark(6))


def test_without_a_history_numbers_count() -> None:
    history = NumbersOnly()
    assert history.mark(7) == Mark(7)
    assert history.repeats(7, Mark(7))
    assert history.repeats(7, Mark(9))
    assert not history.repeats(7, Mark(6))
