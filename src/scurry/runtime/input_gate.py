"""The gate where the channels of an operator meet: records are merged, watermarks combined.

At every record the combined watermark is the minimum over the channels: those with records still to
come in this batch stand at their next record, the others at what they reported last. Idle channels
do not count; when all are idle, the furthest of them does. A channel that wakes up behind the
others does not hold them back either, until it has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.concat import concat
from scurry.runtime.event_time import Mark
from scurry.runtime.running import running_max, running_min

#: One batch as it arrived: channel, number in the channel, input port, records.
Arrival = tuple[str, int, int, Batch]


class InputGate:
    """The channels of one operator: their watermarks, and the merging of their records."""

    def __init__(self) -> None:
        self.watermarks: dict[str, int] = {}
        self.idle: set[str] = set()
        #: channels that were idle, are not any more, and are still behind the rest
        self.behind: set[str] = set()
        self.current = MIN_WATERMARK

    @property
    def all_idle(self) -> bool:
        """Whether no channel is expected to bring anything."""
        return bool(self.watermarks) and self.idle >= self.watermarks.keys()

    def snapshot(self) -> list[Any]:
        """What must survive until the next micro-batch, as plain data."""
        return [self.current, self.watermarks, sorted(self.idle), sorted(self.behind)]

    def restore(self, kept: list[Any]) -> None:
        """Go on from a snapshot."""
        self.current, self.watermarks = kept[0], kept[1]
        self.idle, self.behind = set(kept[2]), set(kept[3])

    def keep(self, channels: Collection[str]) -> None:
        """Forget all channels but ``channels``, those that have reported in this micro-batch. Every
        channel reports in every micro-batch, so one that does not belongs to a program that has
        been changed since. The combined watermark stays where it is."""
        if not self.watermarks.keys() <= set(channels):
            self.watermarks = {name: at for name, at in self.watermarks.items() if name in channels}
            self.idle &= self.watermarks.keys()
            self.behind &= self.watermarks.keys()

    @staticmethod
    def redistribute(snapshots: list[list[Any]], renamed: Callable[[str], list[str]]) -> list[Any]:
        """One snapshot for all slots of an operator after the job was rescaled, made of the
        snapshots of the slots before. ``renamed`` gives the channels that a channel becomes. Where
        several channels become one, it stands at the earliest of those that are not idle."""
        found: dict[str, list[tuple[bool, int]]] = {}
        behind: set[str] = set()
        for _, stands, idle, late in snapshots:
            behind.update(name for channel in late for name in renamed(channel))
            for channel, watermark in stands.items():
                for name in renamed(channel):
                    found.setdefault(name, []).append((channel in idle, watermark))
        least = {name: min(candidates) for name, candidates in found.items()}
        return [
            min(snapshot[0] for snapshot in snapshots),
            {name: watermark for name, (_, watermark) in least.items()},
            sorted(name for name, (idle, _) in least.items() if idle),
            sorted(behind),
        ]

    def merge(
        self, arrivals: list[Arrival], ends: dict[str, Mark]
    ) -> tuple[Batch | None, Longs | None]:
        """All records in order, with the combined watermark before each, and their ports.

        ``ends`` are the channels' marks at the end of this micro-batch.
        """
        whole, ports = None, None
        active = {arrival[0] for arrival in arrivals}
        self._take_idleness(active, ends)
        if arrivals:
            arrivals = sorted(arrivals, key=lambda arrival: (_rank(arrival[0]), arrival[1]))
            whole, owners, ports = self._in_order(arrivals)
            self._combine(whole, owners, sorted(active), ends)
        self.watermarks = self._after(ends)
        return whole, ports

    def _take_idleness(self, active: set[str], ends: dict[str, Mark]) -> None:
        idle = {channel for channel, mark in ends.items() if mark.idle} - active
        self.behind |= {
            channel
            for channel, mark in ends.items()
            if channel in self.idle and channel not in idle and mark.watermark < self.current
        }
        self.idle = (self.idle - ends.keys() - active) | idle

    def settle(self) -> int:
        """The combined watermark once all records have been handled."""
        if self.all_idle:
            self.current = max(self.current, *self.watermarks.values())
        else:
            counted = [at for name, at in self.watermarks.items() if self._counts(name)]
            if counted:
                self.current = max(self.current, min(counted))
        self.behind = {
            name for name in self.behind if self.watermarks.get(name, self.current) < self.current
        }
        return self.current

    def _counts(self, channel: str) -> bool:
        return channel not in self.idle and channel not in self.behind

    def _in_order(self, arrivals: list[Arrival]) -> tuple[Batch, Longs, Longs | None]:
        whole = concat([arrival[3] for arrival in arrivals])
        sizes = [arrival[3].size for arrival in arrivals]
        names = {channel: at for at, channel in enumerate(sorted({a[0] for a in arrivals}))}
        owners = np.repeat(np.array([names[a[0]] for a in arrivals], dtype=np.int64), sizes)
        ports = None
        if any(arrival[2] for arrival in arrivals):
            ports = np.repeat(np.array([a[2] for a in arrivals], dtype=np.int64), sizes)
        order = _order(whole) if len(names) > 1 else None
        if order is not None:
            whole, owners = whole.take(order), owners[order]
            ports = None if ports is None else ports[order]
        return whole, owners, ports

    def _combine(
        self, whole: Batch, owners: Longs, channels: list[str], ends: dict[str, Mark]
    ) -> None:
        after = self._after(ends)
        quiet = [at for name, at in after.items() if name not in channels and self._counts(name)]
        if (
            whole.wm is None
            and self.current == MIN_WATERMARK
            and not any(at > MIN_WATERMARK for at in self.watermarks.values())
        ):
            return
        own = np.full(whole.size, MIN_WATERMARK) if whole.wm is None else whole.wm.copy()
        floors = np.array([self.watermarks.get(name, MIN_WATERMARK) for name in channels])
        own = np.maximum(own, floors[owners])
        caps = np.full(whole.size + 1, MAX_WATERMARK, dtype=np.int64)
        if quiet:
            caps[0] = min(quiet)
        counted = np.array([self._counts(name) for name in channels])
        for at, name in enumerate(channels):
            if counted[at]:
                last = int(np.flatnonzero(owners == at)[-1])
                end = after.get(name, int(own[last]))
                caps[last + 1] = min(int(caps[last + 1]), end)
        # where records of several partitions were merged before, the watermark of a record is lower
        # than its place: it holds back what stands before it, too
        waited_for = np.where(counted[owners], own, MAX_WATERMARK) if counted.any() else own
        coming = running_min(waited_for[::-1])[::-1]
        combined = np.minimum(coming, running_min(caps)[:-1])
        watermarks = running_max(np.maximum(combined, self.current))
        # a stream without event time beside one that has ended stays without
        if whole.wm is not None or watermarks[-1] > MIN_WATERMARK:
            whole.wm = watermarks

    def _after(self, ends: dict[str, Mark]) -> dict[str, int]:
        """The channels' watermarks once this micro-batch's reports have come in."""
        after = dict(self.watermarks)
        for channel, mark in ends.items():
            after[channel] = max(mark.watermark, after.get(channel, MIN_WATERMARK))
        return after


def _rank(channel: str) -> tuple[str, int, str]:
    """The order in which channels are merged that have records in the same place. Channels of one
    sender come by the number of its slot. Each slot owns a range of key groups, so what the timers
    of several keys emit for one moment comes in the order of key groups."""
    sender, _, name = channel.rpartition("@")
    return sender, len(name) if name.isdecimal() else 0, name


def _order(whole: Batch) -> Longs | None:
    """The permutation that sorts by place, None if the records are in order already."""
    if whole.tick is None:
        return None
    pos = np.zeros(whole.size, dtype=np.int64) if whole.pos is None else whole.pos
    later = (pos[1:] > pos[:-1]) | ((pos[1:] == pos[:-1]) & (whole.tick[1:] >= whole.tick[:-1]))
    if later.all():
        return None
    return np.lexsort((whole.tick, pos))
