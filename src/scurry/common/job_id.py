"""The identity of a running job: 128 random bits, written as 32 hexadecimal digits."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field

from scurry.common.errors import ConfigurationError

__all__ = ["JobID"]


@dataclass(frozen=True, slots=True, order=True, repr=False)
class JobID:
    """``JobID()`` makes a new one, ``JobID(text)`` reads one."""

    hex: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{32}", self.hex):
            raise ConfigurationError(
                f"a job id has 32 hexadecimal digits in lower case, got {self.hex!r}"
            )

    def __str__(self) -> str:
        return self.hex

    def __repr__(self) -> str:
        return f"JobID({self.hex!r})"
