"""Sessions whose JVM has died."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from scurry.common.errors import JobError
from scurry.engine.spark import session as sessions
from scurry.engine.spark.attempt import _is_active


class Gone:
    """Answers nothing."""

    def __getattr__(self, name: str) -> Any:
        raise Py4JNetworkError("nobody is there")


class Session:
    """A session of which only the way to the JVM is left."""

    def __init__(self, jvm: object) -> None:
        self.sparkContext = type("Context", (), {"_jvm": jvm})


class Living:
    """A JVM that tells the time."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(("kind", "died"), [(Gone, True), (type(None), True), (Living, False)])
def test_a_jvm_that_does_not_answer_has_died(kind: type, died: bool) -> None:
    session: Any = Session(kind())
    assert sessions.jvm_has_died(session) is died


def test_a_session_that_the_program_has_made_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", object())
    with pytest.raises(JobError, match=r"had made the session by itself.*start it again"):
        sessions.renewed_session({})


def test_a_session_that_scurry_has_made_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, made = object(), object()
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    monkeypatch.setattr(SparkContext, "_jvm", object())
    monkeypatch.setattr(SparkContext, "_active_spark_context", object())
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(sessions, "_own", gateway)
    first = {"spark.master": "local[3]", "spark.app.name": "mine"}
    monkeypatch.setattr(sessions, "_own_settings", first)
    asked: list[Any] = []

    def obtain(settings: Any, live: bool) -> Any:
        assert SparkContext._gateway is None, "the dead one is forgotten"
        assert SparkContext._active_spark_context is None
        asked.append(settings)
        return made

    monkeypatch.setattr(sessions, "obtain_session", obtain)
    found: Any = sessions.renewed_session({"spark.app.name": "other"})
    assert (found, asked) == (made, [{"spark.master": "local[3]", "spark.app.name": "other"}])


def test_a_query_whose_jvm_has_died_is_not_active() -> None:
    query: Any = Gone()
    assert not _is_active(query)
