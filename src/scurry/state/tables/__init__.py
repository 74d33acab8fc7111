"""Tables: the states of a slot as users' handles read and write them, above the slot's records."""

from __future__ import annotations
