"""Write docs/reference/api/, one page for each public module, and their part of mkdocs.yml.

mkdocstrings fills the pages from docstrings when the site is built.

A module is public if a program imports from it and it says what it offers in ``__all__``. Every
name in there is on the page of its module.

Usage:
    python scripts/api_pages.py           (what `make docs` runs)
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PAGES, NAVIGATION = ROOT / "docs" / "reference" / "api", ROOT / "mkdocs.yml"
#: The packages that programs import from.
PACKAGES = (
    "scurry.cep",
    "scurry.common",
    "scurry.datastream",
    "scurry.metrics",
    "scurry.queryable",
    "scurry.state_processor",
    "scurry.state_reader",
    "scurry.testing",
)
#: Modules that offer all they define, and do not say so in ``__all__``.
WHOLE = (
    "scurry.common.errors",
    "scurry.testing.kafka",
    "scurry.testing.servers",
    "scurry.testing.spark",
)
#: Below these packages every module is looked at; of the others only the package itself.
DEEP = ("scurry.datastream", "scurry.testing")
_ENTRIES = r"( +# written by scripts/api_pages.py\n).*?( +# end\n)"
_NOTE = "<!-- Written by scripts/api_pages.py; do not edit. -->\n"


def public_modules() -> dict[str, list[str]]:
    """What each public module offers, and no module before it."""
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for module in _modules():
        offered = _offered(module)
        new = [name for name in offered if id(getattr(module, name)) not in seen]
        seen.update(id(getattr(module, name)) for name in offered)
        if new:
            found[module.__name__] = sorted(new)
    return found


def _offered(module: ModuleType) -> list[str]:
    if module.__name__ not in WHOLE:
        return list(getattr(module, "__all__", ()))
    own = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return [n for n, v in own.items() if getattr(v, "__module__", "") == module.__name__]


def _modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        if name in DEEP:
            for info in sorted(pkgutil.walk_packages(package.__path__, f"{name}."), key=_depth):
                yield importlib.import_module(info.name)
    yield importlib.import_module("scurry.common.errors")


def _depth(info: pkgutil.ModuleInfo) -> tuple[int, str]:
    return info.name.count("."), info.name


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    modules = public_modules()
    made = {f"{module}.md": _page(module, names) for module, names in modules.items()}
    links = [f"- [`{module}`]({module}.md): {_listed(names)}" for module, names in modules.items()]
    return {"index.md": "\n".join([_NOTE, "# API", "", *links]) + "\n", **made}


def navigation(text: str) -> str:
    """``text``, the content of mkdocs.yml, with an entry for each page."""
    entries = ["reference/api/index.md"]
    entries += [f"{module}: reference/api/{module}.md" for module in public_modules()]
    lines = "".join(f"          - {entry}\n" for entry in entries)
    return re.sub(_ENTRIES, lambda found: f"{found[1]}{lines}{found[2]}", text, flags=re.DOTALL)


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def _page(module: str, names: list[str]) -> str:
    parts = [_NOTE, f"# {module}", ""]
    for name in names:
        parts += [f"::: {_defined(module, name)}", ""]
    return "\n".join(parts)


def _defined(module: str, name: str) -> str:
    """Where a name is defined: some packages fetch names when they are asked for, and whoever
    reads their source text alone does not find them there."""
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, type) or callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{module}.{name}"


def main() -> int:
    """Write the pages, and remove those of modules that are gone."""
    PAGES.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in PAGES.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    NAVIGATION.write_text(navigation(NAVIGATION.read_text()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
