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
from scurry.cep.dynamic import BAD_PATTERNS, BadPattern, PatternMatch
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
from scurry.cep.match_stream import MatchStream
from scurry.cep.pattern_json import PatternDocument, pattern_from_json, pattern_to_json
from scurry.cep.pattern_stream import CEP, DynamicPatternStream, PatternStream
from scurry.cep.updates import (
    PatternUpdate,
    disable_pattern,
    enable_pattern,
    put_pattern,
    remove_pattern,
)

__all__ = [
    "BAD_PATTERNS",
    "CEP",
    "AfterMatchSkipStrategy",
    "BadPattern",
    "ConditionContext",
    "DynamicPatternStream",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "MatchContext",
    "MatchStream",
    "Pattern",
    "PatternDocument",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternMatch",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "PatternUpdate",
    "Quantifier",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
    "disable_pattern",
    "enable_pattern",
    "first",
    "last",
    "pattern_from_json",
    "pattern_to_json",
    "put_pattern",
    "remove_pattern",
]
