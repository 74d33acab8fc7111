"""Options: how values are read and written, and how what does not fit is refused."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.options import BY_KEY, checkpoints, execution, kept, python, restarts, state
from scurry.common.options.option import Option


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (execution.CHAINING, "false", False),
        (execution.PARALLELISM, "4", 4),
        (restarts.BACKOFF_FACTOR, "2", 2.0),
        (checkpoints.CHECKPOINT_INTERVAL, "10 s", 10_000),
        (checkpoints.CHECKPOINT_INTERVAL, "250", 250),
        (state.COMPACT_ABOVE, "1 kb", 1024),
        (state.COMPACT_ABOVE, "10", 10),
        (checkpoints.CHECKPOINTING_MODE, "at-least-once", "AT_LEAST_ONCE"),
        (execution.RUNTIME_MODE, " batch ", "BATCH"),
        (state.STATE_BACKEND, "RocksDB", "disk"),
        (restarts.RESTART_STRATEGY, "off", "none"),
        (restarts.RESTART_STRATEGY, "fixeddelay", "fixed-delay"),
        (python.PYTHON_FILES, "a.py, b.zip", ("a.py", "b.zip")),
        (python.PYTHON_FILES, "a.py;b,c.zip", ("a.py", "b,c.zip")),
        (python.PYTHON_FILES, "", ()),
    ],
)
def test_values_are_read_from_text(option: Option[Any], text: str, value: Any) -> None:
    assert option.read(Configuration.of({option.key: text})) == value


@pytest.mark.parametrize("option", sorted(set(BY_KEY.values()), key=lambda one: one.key))
def test_every_option_has_its_default_and_a_sentence(option: Option[Any]) -> None:
    empty = Configuration()
    assert option.read(empty) == option.default
    assert not option.is_set(empty)
    assert option.doc.endswith(".")
    assert option.doc[0].isupper()
    if option.type == "enum":
        assert option.default in option.choices
        assert set(option.aliases.values()) <= set(option.choices)
    if option.least > -1e9 and option.default is not None:
        assert option.default >= option.least


def test_no_key_belongs_to_two_options() -> None:
    keys = [key for option in set(BY_KEY.values()) for key in option.keys]
    assert len(keys) == len(set(keys))


def test_an_older_key_is_read_unless_the_newer_one_is_set() -> None:
    configuration = Configuration.of({"state.checkpoints.dir": "/old"})
    assert checkpoints.CHECKPOINT_DIRECTORY.read(configuration) == "/old"
    configuration.set_string("execution.checkpointing.dir", "/new")
    assert checkpoints.CHECKPOINT_DIRECTORY.read(configuration) == "/new"
    checkpoints.CHECKPOINT_DIRECTORY.clear(configuration)
    assert not checkpoints.CHECKPOINT_DIRECTORY.is_set(configuration)
    assert not configuration.key_set()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            checkpoints.CHECKPOINTING_MODE,
            "twice",
            "execution.checkpointing.mode is 'twice'; it must be one of EXACTLY_ONCE, "
            "AT_LEAST_ONCE.",
        ),
        (
            execution.BATCH_RECORDS,
            "0",
            "scurry.batch.max-records is 0; it must be a whole number from 1 on.",
        ),
        (
            execution.CHAINING,
            "maybe",
            "cannot read 'maybe', the value of configuration key "
            "'pipeline.operator-chaining.enabled', as boolean: write true or false",
        ),
        (
            restarts.FIXED_DELAY,
            "soon",
            "cannot read 'soon', the value of configuration key "
            "'restart-strategy.fixed-delay.delay', as length of time: write for example '10 s'",
        ),
        (
            state.FILES_ABOVE,
            "large",
            "cannot read 'large', the value of configuration key 'scurry.state.files-above', as "
            "size of memory: write for example '64 mb'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(option: Option[Any], value: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        option.read(Configuration.of({option.key: value}))
    assert str(refused.value) == message
    untouched = Configuration()
    with pytest.raises(ConfigurationError):
        option.write(untouched, value)
    assert not untouched.key_set()


def test_the_message_names_the_key_that_was_written() -> None:
    with pytest.raises(ConfigurationError, match=r"^restart-strategy is 'always'; it must be one"):
        restarts.RESTART_STRATEGY.read(Configuration.of({"restart-strategy": "always"}))


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        (execution.CHAINING, False, "false"),
        (execution.PARALLELISM, 3, "3"),
        (checkpoints.CHECKPOINT_INTERVAL, 1500, "1500 ms"),
        (checkpoints.CHECKPOINTING_MODE, "AT_LEAST_ONCE", "AT_LEAST_ONCE"),
        (python.PYTHON_FILES, ("a", "b"), "a,b"),
        (kept.BUFFER_TIMEOUT, 5, "5 ms"),
    ],
)
def test_what_is_written_is_read_again(option: Option[Any], value: Any, text: str) -> None:
    configuration = Configuration()
    option.write(configuration, value)
    assert configuration.to_dict() == {option.key: text}
    assert option.read(configuration) == value


def test_a_map_is_one_text_or_a_key_for_each_entry() -> None:
    parameters = execution.JOB_PARAMETERS
    configuration = Configuration.of(
        {parameters.key: "city:Oslo, path:a:b", f"{parameters.key}.size": 3}
    )
    assert parameters.read_entries(configuration) == {"city": "Oslo", "path": "a:b", "size": "3"}
    parameters.write_entries(configuration, {"only": 1})
    assert configuration.to_dict() == {f"{parameters.key}.only": "1"}
    with pytest.raises(ConfigurationError, match="is 'Oslo'; it must be a list of name:value"):
        parameters.read_entries(Configuration.of({parameters.key: "Oslo"}))
