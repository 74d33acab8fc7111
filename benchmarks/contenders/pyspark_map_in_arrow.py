"""The copying ceiling: rows go from Spark to a Python worker and back, and nothing happens to them.

No state, no function per event, no shuffle: what is left is the cost of moving Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from benchmarks.contenders import _spark
from benchmarks.contenders._protocol import Measurement, Options


def copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give back what came."""
    yield from batches


def main() -> None:
    """Run the query and report."""
    parser = Options()
    parser.add_argument("--files-per-batch", type=int, default=5)
    options = parser.parse_args()
    measurement = Measurement()
    spark = _spark.session(options.parallelism)
    frame = _spark.stream(spark, options.data, options.files_per_batch).mapInArrow(
        copy, _spark.SCHEMA
    )
    _spark.follow(_spark.start(frame, options.work, None), measurement, counts=False)
    spark.stop()


if __name__ == "__main__":
    main()
