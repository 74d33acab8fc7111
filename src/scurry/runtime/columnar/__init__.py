"""Work on columns that windows and relational operators share: key codes, partial aggregates,
measures."""

from __future__ import annotations
