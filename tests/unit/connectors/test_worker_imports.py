"""What workers load of a table's connector does not bring the Table API with it."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
import scurry.connectors.projected, scurry.functions.not_null
print(sorted(name for name in sys.modules if name.startswith(("scurry.table", "scurry.sql"))))
"""


def test_parts_of_a_table_that_workers_run_do_not_import_the_table_api() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
