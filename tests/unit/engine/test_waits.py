"""Waits for servers that are away, as those see them who watch a job."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest

from scurry.checkpoint.layout import Home
from scurry.common.errors import JobError
from scurry.common.waiting import Wait, WaitBoard, current_board
from scurry.connectors.kafka.client import Patience as KafkaPatience
from scurry.connectors.patience import Patience
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine import waits
from scurry.engine.progress import Progress
from scurry.engine.waits import NoteBoard, ProgressTeller, read_notes
from scurry.testing import collect_local


def wait_of(seconds: float, server: str = "Kafka at b:9092", purpose: str = "read t-0") -> Wait:
    return Wait(server, purpose, "refused", time.time() - seconds)


def test_a_wait_says_for_whom_what_for_how_long_and_why() -> None:
    text = "waiting for Kafka at b:9092 to read t-0, since 12 s: refused"
    assert str(wait_of(12.3)) == text
    bare = Wait("Redis at r:6379", "", "refused", time.time())
    assert str(bare) == "waiting for Redis at r:6379, since 0 s: refused"


def test_a_board_shows_what_lasts() -> None:
    board, first, second = WaitBoard(), object(), object()
    board.post(first, wait_of(1))
    assert board.waits() == []
    board.post(first, wait_of(3))
    board.post(second, wait_of(5, "Postgres at p"))
    assert [wait.server for wait in board.waits()] == ["Postgres at p", "Kafka at b:9092"]
    board.clear(second)
    assert len(board.waits()) == 1
    board.wipe()
    assert board.waits() == []


def test_each_thread_posts_on_the_board_put_up_around_it() -> None:
    outer, inner, found = WaitBoard(), WaitBoard(), []
    with outer:
        with inner:
            assert current_board() is inner
            other = threading.Thread(target=lambda: found.append(current_board()))
            other.start()
            other.join()
        assert current_board() is outer
    assert found[0] not in (outer, inner)
    assert current_board() is found[0]


def test_connectors_post_while_their_server_is_away() -> None:
    with WaitBoard() as board:
        patience = KafkaPatience("b:9092", "plan the next micro-batch")
        patience.waiting("all brokers are down")
        (wait,) = board.waits(0)
        assert str(wait) == (
            "waiting for Kafka at b:9092 to plan the next micro-batch, since 0 s: "
            "all brokers are down"
        )
        patience.over()
        assert board.waits(0) == []


def test_a_call_that_is_repeated_is_on_the_board_meanwhile() -> None:
    seen: list[str] = []
    outcomes = [ConnectionError("refused"), ConnectionError("starting up"), None]

    def action() -> str:
        failure = outcomes.pop(0)
        if failure is not None:
            raise failure
        return "done"

    with WaitBoard() as board:
        patience = Patience(
            "Postgres at p/db",
            sleep=lambda seconds: seen.extend(map(str, board.waits(0))),
            purpose="write a micro-batch to t",
        )
        assert patience.call(action, lambda failure: True) == "done"
        assert board.waits(0) == []
        outcomes[:] = [ConnectionError("refused")]
        with pytest.raises(JobError, match="could not be reached for 0 s"):
            Patience("Postgres at p/db", 0).call(action, lambda failure: True)
        assert board.waits(0) == []
    start = "waiting for Postgres at p/db to write a micro-batch to t, since 0 s: "
    assert seen == [f"{start}refused", f"{start}starting up"]


def test_workers_leave_notes_that_the_driver_reads(tmp_path: Path) -> None:
    notes = Home(tmp_path).waiting
    assert read_notes(notes) == []
    with NoteBoard(notes) as board:
        board.post(self := object(), wait_of(1))
        assert not notes.exists()
        board.post(self, wait_of(4))
        (wait,) = read_notes(notes)
        assert (wait.server, round(wait.seconds)) == ("Kafka at b:9092", 4)
        board.clear(self)
        assert read_notes(notes) == []
        board.post(self, wait_of(4))
        assert len(read_notes(notes)) == 1
    assert read_notes(notes) == []


def test_the_note_of_a_worker_that_died_fades(tmp_path: Path) -> None:
    board = NoteBoard(tmp_path)
    board.post(board, wait_of(4))
    assert len(read_notes(tmp_path)) == 1
    (note,) = tmp_path.iterdir()
    os.utime(note, (time.time() - 20, time.time() - 20))
    assert read_notes(tmp_path) == []
    note.write_text("[{")
    assert read_notes(tmp_path) == []


def test_the_callback_hears_of_waits_and_of_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(waits, "_REPEAT_SECONDS", 0.05)
    progress, told = Progress(), []
    NoteBoard(tmp_path).post(object(), wait_of(100, "Kafka of an earlier run"))
    teller = ProgressTeller(
        progress, tmp_path, lambda shown: told.append([wait.server for wait in shown.waiting])
    )
    teller.start()
    time.sleep(0.1)
    assert told == []
    progress.board.post("sink", wait_of(3, "Postgres at p"))
    NoteBoard(tmp_path).post("reader", wait_of(5))
    _until(lambda: told.count(["Kafka at b:9092", "Postgres at p"]) > 1)
    progress.board.clear("sink")
    _until(lambda: told[-1] == ["Kafka at b:9092"])
    for note in tmp_path.iterdir():
        note.unlink()
    _until(lambda: told[-1] == [])
    calls = len(told)
    time.sleep(0.1)
    assert len(told) == calls
    teller.close()


def _until(condition: object) -> None:
    deadline = time.monotonic() + 5
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_rebuild_of_state_is_shown_while_it_lasts() -> None:
    class Remembering(WaitBoard):
        seen: ClassVar[list[str]] = []

        def post(self, owner: object, wait: Wait) -> None:
            super().post(owner, wait)
            self.seen.append(str(wait))

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    counts = env.from_collection([1] * 9).key_by(str).reduce(lambda a, b: a + b)
    with Remembering() as board:
        assert collect_local(counts, cuts=3, crash=[2]) == list(range(1, 10))
    assert board.seen
    for text in board.seen:
        assert re.fullmatch(
            r"waiting for the checkpoint to rebuild the state of stage 1, slot 0, since 0 s: "
            r"\d+ % of 0\.0 MB read",
            text,
        )
    assert "100 %" in board.seen[-1]
    assert board.waits(0) == []
