"""How many records a table of the store on disk has, and about how large they are.

The store keeps all tables in one tree, so that LMDB can only tell how many records there are in
all. Counting is exact all the same, and costs nothing per record: the tree is asked before and
after the changes of one table are written. Bytes are an estimate, because knowing them exactly
would mean to read each record that is replaced: the mean size of records is taken from a sample of
what commits write, recent ones counting more.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from scurry.state.local.store import Size

_FORM = struct.Struct(">qqq")
#: Records of a commit that are looked at; and the weight that all commits before it have at most.
_SAMPLE, _MEMORY = 200, 2000


class Tally(NamedTuple):
    """What is known of one table."""

    entries: int = 0
    #: records whose size was taken, and the sum of their sizes
    sampled: int = 0
    sampled_bytes: int = 0

    @property
    def size(self) -> Size:
        """The size of the table."""
        mean = self.sampled_bytes / self.sampled if self.sampled else 0.0
        return Size(self.entries, round(self.entries * mean))

    def after(self, grown: int, keys: Sequence[bytes], records: Sequence[bytes | None]) -> Tally:
        """The tally after a commit which has written ``records`` under ``keys``, where None is a
        removal, and after which there are ``grown`` records more."""
        pairs = zip(keys, records, strict=True)
        found = [len(k) + len(r) for k, r in islice(pairs, _SAMPLE) if r is not None]
        sampled, size = self.sampled, self.sampled_bytes
        if sampled > _MEMORY:
            sampled, size = sampled // 2, size // 2
        return Tally(self.entries + grown, sampled + len(found), size + sum(found))

    def encode(self) -> bytes:
        """The tally as it is stored."""
        return _FORM.pack(*self)

    @classmethod
    def decode(cls, content: bytes) -> Tally:
        """The tally behind :meth:`encode`'s bytes."""
        return cls(*_FORM.unpack(content))
