"""Files of savepoints on their way between file systems and object stores."""

from __future__ import annotations

from pathlib import Path

from tests.unit.connectors.test_stored_landing import MemoryStore

from scurry.checkpoint.savepoint_copies import transfer
from scurry.checkpoint.savepoint_manifest import file_records
from scurry.common.any_paths import ObjectPath
from scurry.state.runs.packs import packed


def test_a_source_may_be_called_as_a_directory_of_runs_is(tmp_path: Path) -> None:
    """Runs change their form on the way, and what a source keeps does not."""
    content = {
        "stored-rooms/runs/7/0-ab.0": b"rows",
        "stored-rooms/runs/7/manifest.json": b"{}",
        "epochs/1": b"epoch",
    }
    store = ObjectPath(MemoryStore(), "bucket/sp")
    for name, text in content.items():
        (store / name).write_bytes(text)
    run = {"1-ab.keys": b"keys", "1-ab.data": b"data"}
    for name, text in run.items():
        (tmp_path / name).write_bytes(text)
    (store / "runs/1-0/1-ab").write_bytes(packed(tmp_path / name for name in run))
    down = tmp_path / "down"
    transfer(store, down, file_records(store))
    found = {str(p.relative_to(down)): p.read_bytes() for p in down.rglob("*") if p.is_file()}
    assert found == {**content, **{f"runs/1-0/{name}": text for name, text in run.items()}}
    back = ObjectPath(MemoryStore(), "bucket/back")
    transfer(down, back, file_records(down))
    names = {key.removeprefix("bucket/back/") for key in back.store.find(back.key)}
    assert names == {*content, "runs/1-0/1-ab"}
