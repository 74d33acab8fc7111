"""Operator state in a slot's store, and how it is dealt out to another number of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scurry.state.codecs.encoding import decode, encode
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, RecordReader, in_groups

#: How the elements of several instances are put together: dealt out in turn, all to everyone, or
#: the same for everyone.
SPLIT, UNION, BROADCAST = "split", "union", "broadcast"
#: Stands where other records have their key group: these belong to an instance, not to a key.
_OF_INSTANCE = b"\xff\xfe"
#: The states of one instance of an operator, encoded, by name.
Encoded = dict[str, bytes]


def encode_state(mode: str, content: Any) -> bytes:
    """One state as bytes: a list, or for ``BROADCAST`` a dict."""
    return encode((mode, content))


def decode_state(data: bytes) -> tuple[str, Any]:
    """Mode and content of a state."""
    mode, content = decode(data)
    return mode, content


def redistribute(instances: Sequence[Encoded], parallelism: int) -> list[Encoded]:
    """The states of ``parallelism`` instances, made of those of as many as there were.

    The elements of lists are dealt out in turn, in the order of the instances they come from;
    union lists and broadcast maps go to everyone.
    """
    dealt: list[Encoded] = [{} for _ in range(parallelism)]
    for name in sorted({name for instance in instances for name in instance}):
        states = [decode_state(instance[name]) for instance in instances if name in instance]
        mode = states[0][0]
        if mode == BROADCAST:
            shares: list[Any] = [states[0][1]] * parallelism
        else:
            elements = [element for _, content in states for element in content]
            split = mode == SPLIT
            shares = [elements[at::parallelism] if split else elements for at in range(parallelism)]
        for instance, share in zip(dealt, shares, strict=True):
            instance[name] = encode_state(mode, share)
    return dealt


def redistribute_records(
    instances: Sequence[dict[bytes, bytes]], parallelism: int
) -> list[dict[bytes, bytes]]:
    """:func:`redistribute` of the records of :class:`OperatorTable`."""
    named = [{decode_name(key): data for key, data in states.items()} for states in instances]
    return [
        {_address(name): data for name, data in states.items()}
        for states in redistribute(named, parallelism)
    ]


class OperatorTable:
    """The operator state of one operator in one slot."""

    def __init__(self, name: str, store: RecordReader) -> None:
        self.name = name
        self._store = store
        self._fresh: Encoded = {}

    def load(self) -> Encoded:
        """All states as of the last commit."""
        return {decode_name(address): record for address, record in self._store.scan(self.name)}

    def save(self, states: Encoded) -> None:
        """What the states are from now on."""
        self._fresh = dict(states)

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        held = self.load() if self._fresh else {}
        for name, record in self._fresh.items():
            if held.get(name) != record:
                yield self.name, _address(name), record

    def settle(self) -> None:
        """The changes are committed."""
        self._fresh.clear()

    freezes = True

    @property
    def changed(self) -> int:
        """How many states have been saved since the last commit."""
        return len(self._fresh)

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`. States are read when a function is opened, and saved
        as a whole at every commit."""
        self._fresh.clear()

    def thaw(self) -> Leftovers:
        """The commit is written."""
        return Leftovers()

    def forget(self) -> None:
        """Drop what was not committed."""
        self._fresh.clear()


def _address(name: str) -> bytes:
    return _OF_INSTANCE + name.encode()


def decode_name(address: bytes) -> str:
    """The name of the state whose record lies at ``address``."""
    return address[len(_OF_INSTANCE) :].decode()
