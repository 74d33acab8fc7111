"""What the contenders of the Kafka benchmark are told."""

from __future__ import annotations

import argparse


def arguments() -> argparse.Namespace:
    """The command line, the same for all."""
    parser = argparse.ArgumentParser()
    for name in ("servers", "input", "output", "work", "jars"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--guarantee", default="EXACTLY_ONCE")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--records-per-batch", type=int, default=0)
    parser.add_argument("--option", action="append", default=[], help="key=value of the engine")
    parser.add_argument("--bounded", action="store_true")
    return parser.parse_args()
