"""Runs the programs with PyFlink and keeps what they print, for `test_programs.py`.

Usage, with the Python that has PyFlink:
    python tests/pyflink/record.py [NAME ...]
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: What the JVM writes about itself.
NOISE = re.compile(r"^(WARNING:|SLF4J|log4j|Picked up|.*(WARN|INFO|ERROR)\s).*\n", re.MULTILINE)


def run(program: Path) -> None:
    """Run one program as if it were started by its name."""
    source = compile(program.read_text(encoding="utf-8"), str(program), "exec")
    exec(source, {"__name__": "__main__", "__file__": str(program)})


def record(program: Path, console: Path) -> str:
    """What a program prints, from Python and from the JVM."""
    start = console.stat().st_size
    try:
        run(program)
    except BaseException:
        traceback.print_exc()
        print("FAILED")
    sys.stdout.flush()
    return NOISE.sub("", console.read_bytes()[start:].decode())


def main(names: list[str]) -> None:
    """Record the named programs, or all; what is kept already is left alone."""
    programs = sorted((HERE / "programs").glob("*.py"))
    if names:
        programs = [HERE / "programs" / f"{name}.py" for name in names]
    with tempfile.TemporaryDirectory() as directory:
        console = Path(directory, "console.txt")
        console.touch()
        descriptor = os.open(console, os.O_WRONLY | os.O_APPEND)
        os.dup2(descriptor, 1)
        sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8")
        for program in programs:
            kept = HERE / "expected" / f"{program.stem}.txt"
            if kept.exists():
                continue
            text = record(program, console)
            failed = "FAILED\n" in text
            print(f"{program.stem} {'FAILED' if failed else 'ok'}", file=sys.stderr, flush=True)
            if not failed:
                kept.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
