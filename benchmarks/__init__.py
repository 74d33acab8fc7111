"""Measurements of Scurry beside its neighbours. ``docs/benchmarks.md`` says what they mean.

Each public module here is one benchmark, run as ``python -m benchmarks.<name>``; modules whose
names begin with an underscore are shared. This package imports nothing by itself, because
contenders also run under interpreters that have neither Scurry nor its dependencies.
"""

from __future__ import annotations
