"""The queue of matches against a plain list: what is taken out has the lowest rank."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scurry.automaton.matches import MatchQueue, Partial

starts = st.none() | st.tuples(st.integers(0, 3), st.integers(0, 2))
#: one with a start is added, one is taken out, or those with a state are discarded
actions = st.lists(
    st.tuples(st.sampled_from(["add", "add", "poll", "discard"]), starts, st.integers(0, 9)),
    max_size=40,
)


def _partials(given_starts: list[tuple[int, int] | None]) -> list[Partial]:
    return [Partial(number, None, start, 0) for number, start in enumerate(given_starts)]


@given(st.lists(starts, max_size=20))
def test_matches_come_out_by_rank(given_starts: list[tuple[int, int] | None]) -> None:
    queue = MatchQueue(_partials(given_starts))
    assert len(queue) == len(given_starts)
    found = [queue.poll() for _ in given_starts]
    begun = sorted(start for start in given_starts if start is not None)
    assert [one.start for one in found] == begun + [None] * (len(given_starts) - len(begun))
    assert sorted(one.state for one in found) == list(range(len(given_starts)))
    assert queue.first is None


@given(actions)
def test_a_queue_is_a_list_from_which_the_lowest_is_taken(
    given_actions: list[tuple[str, tuple[int, int] | None, int]],
) -> None:
    queue, model = MatchQueue(), list[Partial]()
    for action, start, state in given_actions:
        # what was held behaves as the queue itself
        other = MatchQueue.of(queue.held())
        if action == "add":
            one = Partial(state, None, start, 0)
            for each in (queue, other):
                each.add(one)
            model.append(one)
        elif action == "discard":
            gone = [one for one in model if one.state == state]
            for each in (queue, other):
                each.discard(gone)
            model = [one for one in model if one not in gone]
        elif model:
            taken = queue.poll()
            assert other.poll() is taken
            assert taken.rank() == min(one.rank() for one in model)
            model.remove(taken)
        assert queue.held() == other.held()
        assert set(queue) == set(model)
        assert len(queue) == len(model)
        if queue.first is not None:
            assert queue.first.rank() == min(one.rank() for one in model)
