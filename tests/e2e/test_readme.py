"""The examples of the README and the docs run, and print what the pages say they print.

The Python blocks of a page, in order, are one program. A ``text`` block shows what the Python block
before it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.kafka.conftest import kafka_installed, servers

ROOT = Path(__file__).parents[2]
HOW_TO = "docs/howto/"
__all__ = ["kafka_installed", "servers"]
#: Pages that are run by one interpreter; to start one, and a JVM, is what takes the time.
GROUPS = [
    [
        *("README.md", "docs/tutorial.md", "docs/sql.md", "docs/concepts/functions.md"),
        "docs/concepts/engines.md",
        *(
            f"{HOW_TO}{name}.md"
            for name in (
                "savepoints",
                "read-state",
                "query-state",
                "write-state",
                "async-io",
                "patterns",
            )
        ),
    ],
    [
        f"{HOW_TO}{name}.md"
        for name in (
            "spark",
            "clusters",
            "dataframes",
            "micro-batches",
            "operating",
            "restart",
            "change-a-program",
            "rescale",
            "source-and-sink",
            "errors",
        )
    ],
    [f"{HOW_TO}{name}.md" for name in ("kafka", "files", "postgres", "rabbitmq", "other-sinks")],
    # these run without a JVM
    [
        *(
            f"{HOW_TO}{name}.md"
            for name in ("testing", "batches", "from-flink", "from-structured-streaming")
        ),
        *(
            f"docs/concepts/{name}.md"
            for name in ("values", "state", "time", "windows", "failure", "timers")
        ),
    ],
]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "@@ block"


@dataclass
class Example:
    """A Python block, and the output that the page shows for it."""

    page: str
    code: str
    output: str = ""


def examples(page: str) -> list[Example]:
    """The examples of a page, in order."""
    found: list[Example] = []
    for language, content in _FENCE.findall((ROOT / page).read_text()):
        if language == "python":
            found.append(Example(page, content))
        elif language == "text":
            assert found, f"{page}: an output block comes before any Python block"
            found[-1].output = content
    return found


def run(program: Path, **settings: str) -> list[str]:
    """What each block of ``program`` prints, given more environment variables."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "PYSPARK_PYTHON": sys.executable,
        **settings,
    }
    finished = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=500,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return [part.partition("\n")[2] for part in finished.stdout.split(_MARK)[1:]]


def without_places(text: str) -> str:
    """``text`` without what depends on where the program lies: directory and line numbers."""
    text = re.sub(r'File ".*?([^/"]+)", line \d+', r'File "\1", line N', text)
    return text.strip()


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pages", GROUPS, ids=lambda pages: Path(pages[0]).stem)
def test_the_examples_of_a_page_print_what_it_says(
    pages: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if f"{HOW_TO}postgres.md" in pages:
        request.getfixturevalue("postgres_server")
        request.getfixturevalue("rabbitmq_installed")
        request.getfixturevalue("redis_server")
    shown = [example for page in pages for example in examples(page)]
    program = tmp_path / "job.py"
    program.write_text(
        "\n".join(
            f'print("{_MARK} {number}", flush=True)\n{example.code}'
            for number, example in enumerate(shown)
        )
    )
    settings = {}
    if f"{HOW_TO}kafka.md" in pages:
        settings["KAFKA"] = request.getfixturevalue("servers")
    printed = run(program, **settings)
    assert len(printed) == len(shown)
    for text, example in zip(printed, shown, strict=True):
        assert without_places(text) == without_places(example.output), example.page


def test_all_pages_with_examples_are_run() -> None:
    pages = ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
    with_examples = [page for page in pages if examples(page)]
    assert sorted(with_examples) == sorted(page for pages in GROUPS for page in pages)


def test_the_readme_and_the_tutorial_have_examples_with_output() -> None:
    assert [bool(example.output) for example in examples("README.md")] == [True, True]
    assert all(example.output for example in examples("docs/tutorial.md"))


def test_the_readme_example_is_short() -> None:
    lines = [line for line in examples("README.md")[0].code.splitlines() if line.strip()]
    assert len(lines) <= 25


@pytest.mark.parametrize("page", ["README.md", *(str(p) for p in (ROOT / "docs").rglob("*.md"))])
def test_links_between_pages_lead_somewhere(page: str) -> None:
    place = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)", place.read_text()):
        if "://" not in target:
            assert (place.parent / target).exists(), f"{page} links to {target}"
