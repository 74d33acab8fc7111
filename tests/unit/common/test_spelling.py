"""Keys of a configuration: misspelt ones are refused, those without effect are said once."""

from __future__ import annotations

import logging

import pytest

from scurry.common import notes
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.options import BY_KEY
from scurry.common.options.flink_keys import FAMILIES, FLINK_KEYS
from scurry.common.options.spelling import check_keys
from scurry.datastream import StreamExecutionEnvironment


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "_said", set())


def check(*keys: str) -> None:
    check_keys(Configuration.of(dict.fromkeys(keys, "1")))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("scurry.batch.max-record", "scurry.batch.max-records"),
        ("scurry.windows.vectorized", "scurry.windows.vectorised"),
        ("scury.on-error", "scurry.on-error"),
        ("paralelism.default", "parallelism.default"),
        ("pipeline.operator-chaning.enabled", "pipeline.operator-chaining.enabled"),
        ("pipeline.max_parallelism", "pipeline.max-parallelism"),
        ("pipeline.maxParallelism", "pipeline.max-parallelism"),
        ("execution.runtimemode", "execution.runtime-mode"),
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("execution.checkpointing.dri", "execution.checkpointing.dir"),
        ("restart-stategy.type", "restart-strategy.type"),
        ("state.backend.typ", "state.backend.type"),
        ("python.file", "python.files"),
        ("table.exec.mini-batch.enable", "table.exec.mini-batch.enabled"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_name_that_was_meant(written: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check(written)
    message = str(refused.value)
    assert message.startswith(f"The configuration has {written!r}, which is not an option. Did you")
    assert meant in message
    assert message.endswith("All options are in docs/reference/options.md.")


def test_any_unknown_key_of_scurrys_own_is_refused() -> None:
    with pytest.raises(ConfigurationError) as refused:
        check("scurry.a-setting-that-nobody-has-thought-of")
    assert str(refused.value) == (
        "The configuration has 'scurry.a-setting-that-nobody-has-thought-of', which is not an "
        "option. "
        "All options are in docs/reference/options.md."
    )
    with pytest.raises(ConfigurationError, match=r"Did you mean scurry\.batch\.max-records"):
        check("scurry.batch.records")


def test_nothing_that_is_known_is_refused() -> None:
    check(*BY_KEY, *FLINK_KEYS, *(f"{family}anything.at.all" for family in FAMILIES))


def test_the_table_of_flinks_keys_holds_no_options() -> None:
    assert not FLINK_KEYS & BY_KEY.keys()
    assert {
        "execution.target",
        "pipeline.vertex-description-mode",
        "table.plan.force-recompile",
    } <= (FLINK_KEYS)


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.shuffle.partitions",
        "my.application.size",
        "bootstrap.servers",
        "input",
        "pipelined.names",
        "execution",
        "pipeline.global-job-parameters.max-record",
    ],
)
def test_keys_of_others_pass_without_a_word(key: str, caplog: pytest.LogCaptureFixture) -> None:
    check(key)
    assert not caplog.records


def test_a_whole_word_that_differs_is_another_key(caplog: pytest.LogCaptureFixture) -> None:
    """Flink may have it tomorrow."""
    check("execution.checkpointing.max-pause")
    [record] = caplog.records
    assert record.getMessage().startswith(
        "execution.checkpointing.max-pause is neither an option of Scurry nor a key of Flink that "
        "it knows; nothing here reads it. Did you mean execution.checkpointing.min-pause"
    )


def test_what_has_no_effect_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    keys = ("taskmanager.numberOfTaskSlots", "execution.target", "execution.checkpointing.timeout")
    check(*keys)
    check(*keys, "execution.attached")
    assert [(record.name, record.levelno) for record in caplog.records] == [
        ("scurry.settings", logging.WARNING)
    ] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "execution.checkpointing.timeout is accepted and has no effect. "
        + BY_KEY["execution.checkpointing.timeout"].doc,
        "Accepted without effect, because they tune parts of Flink that Scurry does not have: "
        "execution.target, taskmanager.numberOfTaskSlots.",
        "Accepted without effect, because they tune parts of Flink that Scurry does not have: "
        "execution.attached.",
    ]


def test_keys_are_checked_when_the_job_is_built() -> None:
    env = StreamExecutionEnvironment(Configuration.of({"scurry.on-eror": "fail"}))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"'scurry\.on-eror', which is not an option"):
        env.get_execution_plan()
