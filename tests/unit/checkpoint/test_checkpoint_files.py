"""A checkpoint that lost a file says which one."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import click
import pytest

import scurry
from scurry.checkpoint.directory import JobDirectory, _read_epoch
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.initial_state import InitialState, ShareWriter
from scurry.checkpoint.layout import Home
from scurry.cli.main import main
from scurry.common.errors import StateError
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.worker import run_ingress
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.rescaling import SlotStart
from scurry.runtime.specs import JobSpec
from scurry.state.journal import MemoryJournal
from scurry.testing import ListSink


def job() -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.from_collection([1]).sink_to(ListSink())
    return env._compile(None).spec


def keyed_job(parallelism: int = 2, groups: int = 128, operators: int = 1, **own: int) -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.set_max_parallelism(groups)
    stream = env.from_collection([1]).uid("numbers")
    for at in range(operators):
        stream = stream.key_by(lambda n: n).map(lambda n: n).uid(f"map{at}")
        if f"map{at}" in own:
            stream.set_parallelism(own[f"map{at}"])
    stream.sink_to(ListSink())
    return env._compile(None).spec


def test_parallelism_and_key_groups_may_change(tmp_path: Path) -> None:
    def fits(job: JobSpec) -> bool:
        directory = JobDirectory(str(tmp_path))
        directory.prepare(job)
        return directory.generation.fits(job)

    assert fits(keyed_job(operators=2))
    assert fits(keyed_job(operators=2))
    assert not fits(keyed_job(3, operators=2))
    assert not fits(keyed_job(groups=64, operators=2))
    assert not fits(keyed_job(operators=3))
    assert not fits(keyed_job(operators=2, map0=1))


def commit(directory: JobDirectory, number: int) -> None:
    place = directory.home.spark_commit(number)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()


def test_generations_follow_each_other(tmp_path: Path) -> None:
    """Numbers go on rising; the generation before is kept until the new one has committed."""
    directory = JobDirectory(str(tmp_path))
    directory.prepare(keyed_job(2))
    for batch in range(3):
        directory.write_epoch(Epoch(batch, {}, []))
        commit(directory, batch)
    made = directory.draft(keyed_job(3))
    assert made.first == 3
    directory.write_epoch_of(made, Epoch(2, {}, []))
    # a start that finds the draft of one that died goes on with the old generation
    again = JobDirectory(str(tmp_path))
    again.prepare(keyed_job(2))
    assert again.generation.number == 0
    assert not directory.home_of(made).path.exists()

    directory.write_epoch_of(directory.draft(keyed_job(3)), Epoch(2, {}, []))
    directory.switch_to(made)
    directory = JobDirectory(str(tmp_path))
    directory.prepare(keyed_job(3))
    assert directory.generation == made
    assert directory.begins_with_state
    epoch = directory.last_epoch()
    assert epoch is not None
    assert epoch.batch == 2
    assert directory.committed(2)
    assert not directory.committed(3)
    # nothing committed yet: another change starts from the generation that has committed
    assert directory.durable()[0].number == 0
    directory.write_epoch(Epoch(3, {}, []))
    commit(directory, 0)
    assert directory.committed(3)
    assert directory.durable() == (made, 3)
    directory.write_epoch(Epoch(4, {}, []))
    assert not directory.begins_with_state
    assert sorted(place.name for place in tmp_path.iterdir()) == ["generation-1", "job.json"]
    assert sorted(place.name for place in (tmp_path / "generation-1").iterdir()) == [
        "epochs",
        "plans",
        "spark",
    ]


def test_initial_state_that_was_deleted_or_cut_short(tmp_path: Path) -> None:
    state = InitialState(Home(tmp_path).initial_state_of(1, 0))
    with pytest.raises(StateError, match=r"1/0/start, state that was to be .*somebody has deleted"):
        state.fill(MemoryJournal())
    state.write_start(SlotStart(7, b"notes", b"last"))
    with ShareWriter(state, "2") as share:
        share.append(b"first")
    journal = MemoryJournal()
    head = state.fill(journal)
    assert (head.first, head.next, head.notes) == (7, 9, b"notes")
    assert journal.entries == {7: b"first", 8: b"last"}
    (state.place / "2").write_bytes((state.place / "2").read_bytes()[:-1])
    with pytest.raises(StateError, match=r"1/0/2, .* cannot be read: it ends too early"):
        state.fill(MemoryJournal())


def test_a_lost_plan(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    payload = JobPayload(job(), "id", [0, 1], directory.home)
    with pytest.raises(StateError, match=r"plan of micro-batch 3 is missing from .*000000003"):
        list(run_ingress(payload, 3, 0))


def test_a_task_without_a_share_of_the_plan_reads_nothing(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    directory.write_plan(3, [TaskPlan(3, 0, 1, 0, [])], Epoch(3, {}, []))
    payload = JobPayload(job(), "id", [0, 1], directory.home)
    assert list(run_ingress(payload, 3, 1)) == []


def test_a_lost_epoch(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    (tmp_path / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "spark" / "commits" / "7").touch()
    with pytest.raises(StateError, match=r"micro-batch 7 was committed, but 7\.json is missing"):
        directory.last_epoch()


def test_a_garbled_epoch_or_plan(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    (tmp_path / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "spark" / "commits" / "7").touch()
    epoch = tmp_path / "epochs" / "7.json"
    epoch.write_bytes(b"{")
    with pytest.raises(StateError, match=re.escape(f"{epoch} cannot be read")):
        directory.last_epoch()
    plan = directory.home.plan(8)
    plan.mkdir()
    with pytest.raises(StateError, match=re.escape(f"{plan / '_after.json'} cannot be read")):
        directory.pending_plan(7)


def test_no_message_advises_what_does_not_exist() -> None:
    """Whatever a message or docstring tells people to type is a command, with its subcommand."""
    root = Path(scurry.__file__).parent
    typed = re.compile(r"`scurry ([a-z-]+)(?: ([a-z]+))?")
    found = {
        match.groups() for path in root.rglob("*.py") for match in typed.finditer(path.read_text())
    }
    assert len(found) > 5
    for name, sub in found:
        command = main.commands[name]
        if isinstance(command, click.Group) and sub is not None:
            assert sub in command.commands, (name, sub)


def test_a_damaged_epoch_names_the_ways_out(tmp_path: Path) -> None:
    epoch = tmp_path / "epoch.json"
    epoch.write_bytes(b"{")
    with pytest.raises(StateError) as refused:
        _read_epoch(epoch)
    assert str(refused.value).endswith(
        "Put the file back. Or go on from an older copy of the checkpoint: set "
        "execution.checkpointing.dir to its directory. Or begin anew: set it to an empty one."
    )


def test_only_the_owner_can_enter_a_checkpoint(tmp_path: Path) -> None:
    new, made, linked = tmp_path / "a" / "new", tmp_path / "made", tmp_path / "linked"
    made.mkdir(mode=0o755)
    linked.symlink_to(made)
    for place in (new, made, linked):
        JobDirectory(str(place)).prepare(job())
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_somebody_elses_checkpoint_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    refused = rf"{tmp_path} belongs to user {me}.*unpickled.*chown\), or give a directory of your"
    with pytest.raises(StateError, match=refused):
        JobDirectory(str(tmp_path)).prepare(job())
