"""Local stores: the working copy of a slot's state beside the worker, on disk or in memory."""

from __future__ import annotations
