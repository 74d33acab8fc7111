"""Programs written for PyFlink print under Scurry what they print under PyFlink.

Only the imports are changed. What is expected was printed by PyFlink (`record.py`).
"""

from __future__ import annotations

import pytest
from tests.pyflink.running import PROGRAMS, expected, in_this_process, run_program

#: Programs whose output does not depend on how the input is cut, one of each kind.
CUT = ["aggregate_windows", "joins", "lateral_joins", "udtf_forms"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_what_it_prints_under_pyflink(name: str) -> None:
    with in_this_process():
        assert run_program(name) == expected(name)


@pytest.mark.parametrize("name", CUT)
def test_single_records_as_micro_batches_change_nothing(name: str) -> None:
    with in_this_process(cuts=1):
        assert run_program(name) == expected(name)
