"""STR_TO_MAP: a text of pairs as a map; the separators are regular expressions."""

from __future__ import annotations

from scurry.runtime.expressions.java_regex import java_regex
from scurry.runtime.expressions.python_values import per_value


@per_value("STR_TO_MAP")
def _str_to_map(text: str, pairs: str = ",", keys: str = "=") -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    if not text:
        return found
    for pair in java_regex(pairs).split(text):
        key, *value = java_regex(keys).split(pair, maxsplit=1)
        found[key] = value[0] if value else None
    return found
