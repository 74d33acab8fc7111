"""NEXMark: an auction house as a stream, made up, the same for the same seed.

People register, put items up for auction and bid for them. Of 50 events one is a person, three are
auctions and 46 are bids, and an event is a function of its number: whoever asks for the same
numbers gets the same rows, in any order and on any machine. So the three tables can be read as
sources of a job, written to files, and given to several engines, which then have to come to the
same results.
"""

from __future__ import annotations

from scurry.connectors.nexmark.shape import NexmarkShape as NexmarkShape
from scurry.connectors.nexmark.source import NexmarkSource as NexmarkSource
from scurry.connectors.nexmark.tables import TABLES as TABLES
from scurry.connectors.nexmark.tables import rows_of as rows_of
