"""Aggregates over rows that come and go: what each of them holds for a group, and its results."""
