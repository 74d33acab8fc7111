"""Login fraud: who guesses passwords, by rules that are changed while the job runs.

Run it with ``python examples/login_fraud.py``, or with ``scurry run examples/login_fraud.py``.

At eight o'clock the job starts with one rule: three failures in a row and then a success, all
within a minute. At nine the attackers have slowed down, so the rule is replaced: two failures are
enough within ten minutes, if the success comes from another country. Matches that had begun under
the old rule finish under it. At the same time there is a second rule, for the administrator alone:
two logins from different countries within five minutes. At ten it is taken back.

The rules are documents of JSON in a stream of their own, which may as well be a topic of Kafka or a
directory of files. Each holds from its timestamp on. Nobody restarts anything, and a document that
is nonsense is reported and changes nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from scurry.cep import (
    BAD_PATTERNS,
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    last,
    put_pattern,
    remove_pattern,
)
from scurry.common import Duration, Types, WatermarkStrategy
from scurry.datastream import DataStream, StreamExecutionEnvironment
from scurry.table.expressions import col

#: User, country, outcome, and the time of day as hours, minutes and seconds.
LOGINS = [
    ("ann", "NL", "failed", "08:10:00"),
    ("ann", "NL", "failed", "08:10:05"),
    ("ann", "NL", "ok", "08:10:20"),  # two failures: she has mistyped
    ("bob", "RO", "failed", "08:30:00"),
    ("bob", "RO", "failed", "08:30:02"),
    ("bob", "RO", "failed", "08:30:04"),
    ("bob", "RO", "ok", "08:30:06"),  # guessed, by the first rule
    ("root", "NL", "ok", "08:40:00"),
    ("root", "BR", "ok", "08:41:00"),  # nobody looks for that yet
    ("cid", "NL", "failed", "08:59:30"),
    ("cid", "NL", "failed", "08:59:40"),
    ("cid", "NL", "failed", "08:59:50"),
    ("cid", "NL", "ok", "09:00:10"),  # began under the first rule, and finishes under it
    ("dan", "RO", "failed", "09:20:00"),
    ("dan", "RO", "failed", "09:24:00"),
    ("dan", "NL", "ok", "09:25:00"),  # guessed, by the second rule
    ("eve", "NL", "failed", "09:30:00"),
    ("eve", "NL", "failed", "09:30:04"),
    ("eve", "NL", "failed", "09:30:09"),
    ("eve", "NL", "ok", "09:31:00"),  # the first rule holds no more
    ("root", "NL", "ok", "09:40:00"),
    ("root", "BR", "ok", "09:42:00"),  # found for the administrator
    ("ann", "NL", "ok", "09:43:00"),
    ("ann", "BR", "ok", "09:44:00"),  # for others it is allowed
    ("root", "NL", "ok", "10:40:00"),
    ("root", "BR", "ok", "10:41:00"),  # the rule is gone
]
#: What is found: the rule, its version and the user.
EXPECTED = [("guessing", 1, "bob"), ("guessing", 1, "cid"), ("guessing", 2, "dan")]
EXPECTED += [("travel", 1, "root")]


@dataclass(frozen=True)
class Login:
    """An attempt to log in; ``at`` is in milliseconds."""

    user: str
    country: str
    outcome: str
    at: int


def guessing() -> Pattern:
    """Three failures and a success."""
    return (
        Pattern.begin("failures", AfterMatchSkipStrategy.skip_past_last_event())
        .where("outcome = 'failed'")
        .times(3)
        .consecutive()
        .next("success")
        .where("outcome = 'ok'")
        .within(Duration.of_minutes(1))
    )


def guessing_slowly() -> Pattern:
    """Two failures, and a success from another country."""
    return (
        Pattern.begin("failures", AfterMatchSkipStrategy.skip_past_last_event())
        .where(col("outcome") == "failed")
        .times(2)
        .consecutive()
        .next("success")
        .where((col("outcome") == "ok") & (col("country") != last("failures").country))
        .within(Duration.of_minutes(10))
    )


def travelling() -> Pattern:
    """Two logins from different countries."""
    return (
        Pattern.begin("here", AfterMatchSkipStrategy.skip_past_last_event())
        .where("outcome = 'ok'")
        .followed_by("there")
        .where("outcome = 'ok' AND country <> LAST(here.country)")
        .within(Duration.of_minutes(5))
    )


#: When a document comes, and the document.
RULES = [
    ("08:00:00", put_pattern("guessing", 1, guessing())),
    ("08:45:00", '{"id": "travel", "version": 1, "pattern": "two countries"}'),
    ("09:00:00", put_pattern("guessing", 2, guessing_slowly(), partial_matches="finish")),
    ("09:00:00", put_pattern("travel", 1, travelling(), keys=["root"])),
    ("10:00:00", remove_pattern("travel", 2)),
]


def milliseconds(time: str) -> int:
    """A time of day."""
    hours, minutes, seconds = map(int, time.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


def alarms(env: StreamExecutionEnvironment) -> DataStream:
    """The whole program: rule, version and user of each match, and documents that are nonsense."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    logins = env.from_collection(
        [Login(user, country, outcome, milliseconds(at)) for user, country, outcome, at in LOGINS],
        Types.DATACLASS(Login),
    ).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda one, _: one.at))
    rules = (
        env.from_collection([(milliseconds(at), document) for at, document in RULES])
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda one, _: one[0]))
        .map(lambda one: one[1])
    )
    matches = CEP.dynamic_patterns(logins.key_by(lambda login: login.user), rules)
    found = matches.select(told)
    bad = found.get_side_output(BAD_PATTERNS).map(lambda one: ("bad rule", 0, one.error))
    return found.union(bad)


def told(match: Any) -> tuple[str, int, str]:
    last_event = [event for events in match.values() for event in events][-1]
    return match.pattern_id, match.version, last_event.user


def main() -> int:
    """Find who guesses, and nobody else."""
    env = StreamExecutionEnvironment.get_execution_environment()
    results = sorted(alarms(env).execute_and_collect())
    for rule, version, what in results:
        print(f"{rule}: {what}" if rule == "bad rule" else f"{what}: {rule}, version {version}")
    found = [one for one in results if one[0] != "bad rule"]
    print("All were found." if found == EXPECTED else f"Wrong: expected {EXPECTED}.")
    return 0 if found == EXPECTED else 1


if __name__ == "__main__":
    sys.exit(main())
