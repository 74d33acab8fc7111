"""The physical limit: a plain Python loop over the same Arrow columns, with a dict.

One process, one core, nothing durable, no engine. Whatever runs a Python function per event on one
core stays below this.
"""

from __future__ import annotations

from operator import itemgetter

import pyarrow.parquet as pq

from benchmarks.contenders._protocol import Measurement, Options


def main() -> None:
    """Run the loop and report."""
    options = Options().parse_args()
    measurement = Measurement()
    counts: dict[int, int] = {}
    seen = rows = checksum = 0
    for file in sorted(options.data.iterdir()):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=65_536):
            events = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            output = []
            for event in events:
                key = event[0]
                count = (counts.get(key) or 0) + 1
                counts[key] = count
                output.append((key, count))
            seen += batch.num_rows
            rows += len(output)
            checksum += sum(map(itemgetter(1), output))
        measurement.mark(seen)
    measurement.finish(events=seen, output_rows=rows, checksum=checksum)


if __name__ == "__main__":
    main()
