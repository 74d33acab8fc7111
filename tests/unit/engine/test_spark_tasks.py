"""Tasks of Spark's that are executed by another process than the one which Spark believes in."""

from __future__ import annotations

import pytest
from pyspark.core import broadcast
from pyspark.worker_util import setup_broadcasts

from scurry.engine.spark.spark_tasks import _let_go_of_unknown_broadcasts


def test_a_broadcast_variable_that_this_process_never_had_can_be_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broadcast, "_broadcastRegistry", {3: "held"})
    with pytest.raises(KeyError):
        setup_broadcasts([(-8, None)])
    _let_go_of_unknown_broadcasts()
    setup_broadcasts([(-8, None), (-4, None)])
    assert broadcast._broadcastRegistry == {}
