"""The PyFlink compatibility table says what the code does, entry by entry.

What is marked supported can be used the way PyFlink's can; what is marked notimpl or never cannot,
so nobody adds a feature and forgets the table. `make docs` brings table and page up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest
from scripts import pyflink_table as table
from scripts.pyflink_table import NEVER, NOTIMPL, SUPPORTED, Entry, Module

MODULES = table.load()
by_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)


def named(module: Module, entries: list[Entry]) -> list[str]:
    return [f"{module.name}.{entry.name}" for entry in entries]


# --- table and code ------------------------------------------------------------------------


@by_module
def test_supported_entries_can_be_used_as_in_pyflink(module: Module) -> None:
    broken = [
        f"{module.name}.{entry.name}: {difference or 'missing'}"
        for entry in module.entries
        if entry.status == SUPPORTED
        for resolved, difference in [table.resolve(module.name, entry)]
        if not resolved
    ]
    assert not broken, "marked supported, but it is not; run `make docs`"


@by_module
def test_gaps_are_still_gaps(module: Module) -> None:
    closed = [
        entry
        for entry in module.entries
        if entry.status != SUPPORTED and table.resolve(module.name, entry)[0]
    ]
    assert not named(module, closed), "exists now: run `make docs`, or delete its `never`"


@by_module
def test_differences_are_those_of_the_code(module: Module) -> None:
    stale = [
        entry
        for entry in module.entries
        if entry.status != NEVER and table.resolve(module.name, entry)[1] != entry.difference
    ]
    assert not named(module, stale), "its difference is out of date; run `make docs`"


@by_module
def test_every_never_has_a_reason(module: Module) -> None:
    bare = [entry for entry in module.entries if entry.status == NEVER and not entry.reason]
    assert not named(module, bare)


@by_module
def test_entries_are_well_formed(module: Module) -> None:
    names = [entry.name for entry in module.entries]
    assert len(names) == len(set(names))
    assert {entry.status for entry in module.entries} <= set(table.STATUSES)
    classes = {entry.name for entry in module.entries if entry.kind == "class"}
    owners = {name.rpartition(".")[0] for name in names} - {""}
    assert owners <= classes


def test_each_file_is_named_after_its_module() -> None:
    files = {file.stem for file in table.DATA.glob("*.toml")}
    assert files == {module.name for module in MODULES}
    assert {"common", "datastream", "datastream.functions", "datastream.connectors.kafka"} <= files


def test_exports_name_entries_of_the_table() -> None:
    defined = {path for module in MODULES for path in named(module, list(module.entries))}
    exports = {entry.of for module in MODULES for entry in module.entries if entry.kind == "export"}
    assert exports <= defined


def test_the_page_is_written_from_the_table() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    assert page == table.page(MODULES), "run `make docs`"


def test_saving_and_loading_keeps_the_table(tmp_path: Path) -> None:
    (tmp_path / "gone.toml").write_text('module = "gone"\nentries = []\n', encoding="utf-8")
    table.save(MODULES, tmp_path)
    assert table.load(tmp_path) == MODULES


# --- how calls are compared ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pyflink", "scurry", "difference"),
    [
        (["a", "b=..."], lambda a, b=None: 0, ""),
        (["a", "b"], lambda a, b=None, c=None: 0, ""),
        (["a"], lambda a, *, c=None: 0, ""),
        (["*names"], lambda *others: 0, ""),
        (["a", "**options"], lambda *args, **kwargs: 0, ""),
        (["*", "a"], lambda a: 0, ""),
        ([], lambda: 0, ""),
        (["a", "b"], lambda a: 0, "takes no `b`"),
        (["a"], lambda b: 0, "takes no `a`"),
        (["a"], lambda a, /: 0, "takes no `a`"),
        (["a", "b"], lambda b, a: 0, "takes `a` in another position"),
        (["a"], lambda *, a: 0, "takes `a` by its name only"),
        (["a=..."], lambda a: 0, "demands `a`"),
        (["a"], lambda a, b: 0, "demands `b`"),
        (["a"], lambda a, *, b: 0, "demands `b`"),
        (["*names"], lambda: 0, "takes no `*names`"),
        (["*names"], lambda first=0, *names: 0, "takes no `*names`"),
        (["**options"], lambda a=0: 0, "takes no `**options`"),
    ],
)
def test_first_difference(pyflink: list[str], scurry: object, difference: str) -> None:
    ours = list(inspect.signature(scurry).parameters.values())  # type: ignore[arg-type]
    assert table.first_difference(table.parse(pyflink), ours) == difference


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small package that stands in for scurry; its name."""
    package = tmp_path / "sample_of_table"
    package.mkdir()
    (package / "__init__.py").write_text("from sample_of_table.shapes import Shape\nOther = 1\n")
    (package / "shapes.py").write_text(
        "import enum\n"
        "class Shape:\n"
        "    width: int\n"
        "    def __init__(self, size=1): ...\n"
        "    def grow(self, by): ...\n"
        "    @staticmethod\n"
        "    def of(size): ...\n"
        "    @property\n"
        "    def area(self): ...\n"
        "class Colour(enum.Enum):\n"
        "    RED = 1\n"
    )
    (package / "broken.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        monkeypatch.delitem(sys.modules, name)
    return package.name


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry("Shape", "class"), (True, "")),
        (Entry("Shape.__init__", "constructor", ("size=...",)), (True, "")),
        (
            Entry("Shape.__init__", "constructor", ("size=...", "j_shape=...")),
            (True, "without `j_shape`, a JVM object"),
        ),
        (Entry("Shape.__init__", "constructor", ("j_shape",)), (False, "")),
        (Entry("Shape.grow", "method", ("by",)), (True, "")),
        (Entry("Shape.grow", "method", ("amount",)), (False, "takes no `amount`")),
        (Entry("Shape.of", "static method", ("size",)), (True, "")),
        (Entry("Shape.of", "class method", ("size",)), (True, "")),
        (
            Entry("Shape.grow", "static method", ("by",)),
            (False, "is a method of the object, not a static method"),
        ),
        (Entry("Shape.area", "property"), (True, "")),
        (Entry("Shape.width", "property"), (True, "")),
        (Entry("Shape.area", "method"), (False, "is not a method")),
        (Entry("Shape.grow", "property"), (False, "is a method, not a property")),
        (Entry("Shape.shrink", "method"), (False, "")),
        (Entry("Circle.grow", "method"), (False, "")),
        (Entry("Colour.RED", "member"), (True, "")),
        (Entry("Colour.BLUE", "member"), (False, "")),
    ],
)
def test_resolve_in_a_module(sample: str, entry: Entry, expected: tuple[bool, str]) -> None:
    assert table.resolve("shapes", entry, sample) == expected


def test_an_export_is_the_very_object_of_its_module(tmp_path: Path, sample: str) -> None:
    module = tmp_path / sample / "api.py"
    module.write_text(f"from {sample}.shapes import Colour, Shape\nShape = Colour\n")
    same = Entry("Colour", "export", of="shapes.Colour")
    other = Entry("Shape", "export", of="shapes.Shape")
    assert table.resolve("api", same, sample) == (True, "")
    assert table.resolve("api", other, sample) == (False, "is not the one of `shapes.Shape`")


def test_a_missing_module_is_a_gap_and_a_broken_one_an_error(sample: str) -> None:
    assert table.resolve("absent", Entry("Shape", "class"), sample) == (False, "")
    assert table.resolve("absent.deeper", Entry("Shape", "class"), sample) == (False, "")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        table.resolve("broken", Entry("Shape", "class"), sample)
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        table.resolve("shapes", Entry("Shape", "class"), "no_such_package")


# --- sync and page -------------------------------------------------------------------------


def test_sync_reads_supported_and_notimpl_off_the_code() -> None:
    before = Module(
        "common.time",
        (
            Entry("Duration.of_days", "class method", ("days",), status=NOTIMPL),
            Entry("Duration.of_weeks", "class method", ("weeks",), status=SUPPORTED),
        ),
    )
    [after] = table.sync([before])
    assert [entry.status for entry in after.entries] == [SUPPORTED, NOTIMPL]


def test_a_never_covers_members_and_exports() -> None:
    home = Module(
        "common.nowhere",
        (
            Entry("Jar", "class", status=NEVER, reason="is Java"),
            Entry("Jar.open", "method"),
            Entry("Jar.close", "method", status=NEVER, reason="its own reason"),
            Entry("Jarring", "class"),
        ),
    )
    exports = Module("common", (Entry("Jar", "export", of="common.nowhere.Jar"),))
    synced = table.sync([home, exports])
    found = [(entry.status, entry.reason) for module in synced for entry in module.entries]
    assert found == [
        (NEVER, "is Java"),
        (NEVER, "is Java"),
        (NEVER, "its own reason"),
        (NOTIMPL, ""),
        (NEVER, "is Java"),
    ]


def test_sync_reports_a_never_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(table, "DATA", tmp_path / "data")
    wrong = Entry("Duration", "class", status=NEVER, reason="of a mistake")
    table.save([Module("common.time", (wrong,))], table.DATA)
    assert table.main(["sync"]) == 1
    assert "scurry.common.time.Duration exists, but" in capsys.readouterr().err


def test_the_page_shows_counts_parameters_and_reasons() -> None:
    module = Module(
        "common.time",
        (
            Entry("Time.of", "static method", ("size", "unit=..."), status=SUPPORTED),
            Entry("Time.jar", "property", status=NEVER, reason="is Java"),
        ),
    )
    text = table.page([module])
    assert "| [`common.time`](#commontime) | 1 | 0 | 1 |" in text
    assert "| `Time.of` | `(size, unit=...)` | supported |  |" in text
    assert re.search(r"\| `Time.jar` \| property \| never \| is Java \|", text)
