"""Complex event processing: patterns of events found in streams.

>>> from scurry.cep import CEP, Pattern
>>> from scurry.datastream import StreamExecutionEnvironment
>>> env = StreamExecutionEnvironment.get_execution_environment()
>>> readings = env.from_collection([("oven", 90), ("oven", 130), ("oven", 150)])
>>> def hot(reading):
...     return reading[1] > 100
>>> twice = Pattern.begin("first").where(hot).next("second").where(hot)
>>> found = CEP.pattern(readings.key_by(lambda r: r[0]), twice).in_processing_time()
>>> alarms = found.select(lambda match: (match["first"][0][0], match["second"][0][1]))
"""

from __future__ import annotations

from scurry.automaton.conditions import (
    ConditionContext,
    IterativeCondition,
    SimpleCondition,
)
from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.pattern import GroupPattern, Pattern, WithinType
from scurry.automaton.quantifier import Quantifier
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.cep.expressions import first, last
from scurry.cep.functions import (
    MatchContext,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from scurry.cep.pattern_stream import CEP, PatternStream

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "ConditionContext",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "MatchContext",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "Quantifier",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
    "first",
    "last",
]
