"""Runs: large tables as sorted, immutable files of the checkpoint."""

from __future__ import annotations
