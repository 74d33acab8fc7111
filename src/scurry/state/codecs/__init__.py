"""How keys and values become bytes, and how a later program reads them."""

from __future__ import annotations
