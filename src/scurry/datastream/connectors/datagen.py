"""Records made up by a function."""

from __future__ import annotations

from scurry.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
    SeededGeneratorFunction,
)

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "RateLimiterStrategy",
    "SeededGeneratorFunction",
]
