"""What is refused or hidden where checkpoints are in an object store; no store is needed for it."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest

from scurry.common import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.object_store import ObjectStore, StoreSettings, _as_known, _at, _secrets_in
from scurry.datastream import StreamExecutionEnvironment
from scurry.state.runs.packs import packed, unpacked
from scurry.testing import ListSink


class Keeping(ListSink):
    keeps_files = True


def test_what_keeps_files_is_refused_before_spark_starts() -> None:
    settings = Configuration.of({"execution.checkpointing.dir": "s3://bucket/job"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.from_collection([1]).sink_to(Keeping()).uid("kept")
    with pytest.raises(ConfigurationError, match=r"Keeping \(uid 'kept'\) keeps files"):
        env.execute()


def test_secrets_are_taken_out_of_messages() -> None:
    hidden = _secrets_in({"token": "a/b", "user": "somebody"})
    shown = str(_as_known(RuntimeError("GET /x?user=somebody&token=a%2Fb or a/b"), hidden))
    assert shown == "RuntimeError: GET /x?user=somebody&token=*** or ***"


def test_secrets_within_options_are_taken_out_of_messages() -> None:
    options = {
        "client_kwargs": '{"aws_session_token": "s1", "region_name": "eu-9"}',
        "TOKEN": '{"parts": [{"private": "s2"}], "n": 7}',
        "skip": "[1, {}]",
    }
    failure = RuntimeError("s1 of eu-9 and s2")
    shown = str(_as_known(failure, _secrets_in(options)))
    assert shown == "RuntimeError: *** of eu-9 and ***"


def test_a_failure_says_where() -> None:
    """Apart from those that callers expect, and wait for."""
    refused = _at("s3://bucket/job", PermissionError(errno.EACCES, "Access Denied"))
    assert "s3://bucket/job: " in str(refused)
    assert isinstance(refused, PermissionError)
    assert refused.errno == errno.EACCES
    assert str(_at("s3://b/x", OSError("no credentials"))) == "s3://b/x: no credentials"
    for expected in (FileNotFoundError("x"), FileExistsError("x"), OSError("s3://b/x is gone")):
        assert _at("s3://b/x", expected) is expected


def test_libraries_of_stores_log_no_headers(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that logs everything would have its session tokens in its logs; who asks a library for
    details gets them."""
    caplog.set_level(logging.DEBUG)
    for name, level in (("botocore", logging.NOTSET), ("s3fs", logging.DEBUG)):
        monkeypatch.setattr(logging.getLogger(name), "level", level)
    logging.Logger.manager._clear_cache()  # type: ignore[attr-defined]
    assert ObjectStore("s3", StoreSettings())._files
    assert not logging.getLogger("botocore.auth").isEnabledFor(logging.DEBUG)
    assert logging.getLogger("s3fs").isEnabledFor(logging.DEBUG)


def test_files_of_a_run_are_one_object(tmp_path: Path) -> None:
    files = {"1-a.keys": b"k" * 100, "1-a.data": b"", "1-a.ends": b"12"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    made = packed(tmp_path / name for name in files)
    assert {name: bytes(content) for name, content in unpacked(made)} == files
    with pytest.raises(OSError, match="damaged"):
        list(unpacked(made[:-3]))
