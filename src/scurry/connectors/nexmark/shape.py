"""What NEXMark's events are like: how many of each kind, how often, how skewed, how long."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.errors import ProgramError

#: Of each round of events the first is a person, the next are auctions, the others are bids.
PERSONS, AUCTIONS, BIDS = 1, 3, 46
ROUND = PERSONS + AUCTIONS + BIDS


@dataclass(frozen=True)
class NexmarkShape:
    """The settings of a generator; two generators with equal ones give equal events."""

    seed: int = 0
    #: how many events there are in a second of event time
    events_per_second: int = 10_000
    #: the time of the first event, in milliseconds since 1970
    first_time: int = 1_704_067_200_000
    #: of how many of the latest auctions one may still be bid for, and of how many of the latest
    #: people one may still bid
    auctions_in_flight: int = 100
    active_people: int = 1000
    #: of so many bids all but one are for the hot auction, and by the hot bidder; of so many
    #: auctions all but one are by the hot seller; 1 for none
    hot_auctions: int = 2
    hot_bidders: int = 4
    hot_sellers: int = 4
    #: by how many milliseconds at most an event's time lies before its turn
    disorder_ms: int = 0
    #: how long the text ``extra`` of each row is
    extra: int = 16

    def __post_init__(self) -> None:
        least = {
            "events_per_second": 1,
            "auctions_in_flight": 1,
            "active_people": 1,
            "hot_auctions": 1,
            "hot_bidders": 1,
            "hot_sellers": 1,
            "disorder_ms": 0,
            "extra": 0,
        }
        for name, smallest in least.items():
            value = getattr(self, name)
            if value < smallest:
                raise ProgramError(
                    f"NexmarkShape: {name} must be at least {smallest}, got {value}."
                )
