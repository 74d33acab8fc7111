"""Keys that nobody knows: misspelt ones are refused, the others are named in the log.

A key that is taken for a misspelt one although it is not keeps a program from running, which is
worse than a misspelt key that is overlooked. So outside of Scurry's own namespace a key is refused
only if it is a known key but for the letters of some of its words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.notes import first_time, note_once
from scurry.common.options import BY_KEY
from scurry.common.options.flink_keys import FAMILIES, FLINK_KEYS

__all__ = ["check_keys"]

_OWN = "scurry."
#: The first words of keys in namespaces that Scurry reads.
_NAMESPACES = {key.split(".")[0] for key in {*BY_KEY, *FLINK_KEYS}}
#: How alike two words are of which one is taken for a misspelling of the other.
_ALIKE = 0.75
#: How alike two keys are of which one is worth naming to whoever wrote the other.
_WORTH_NAMING = 0.6


def check_keys(configuration: Configuration) -> None:
    """Called when a job is built: refuse misspelt keys, and note those that have no effect."""
    without_effect = []
    for key in sorted(configuration.key_set()):
        if key in BY_KEY:
            if not BY_KEY[key].effective:
                note_once(f"{key} is accepted and has no effect. {BY_KEY[key].doc}")
        elif key in FLINK_KEYS or key.startswith(FAMILIES):
            without_effect += [key] if first_time(key) else []
        elif not _is_entry(key):
            _check_unknown(key)
    if without_effect:
        note_once(
            "Accepted without effect, because they tune parts of Flink that Scurry does not have: "
            f"{', '.join(without_effect)}."
        )


def _is_entry(key: str) -> bool:
    """Whether the key is one entry of an option that is a map."""
    return any(
        option.type == "map" and key.startswith(f"{option.key}.") for option in BY_KEY.values()
    )


def _check_unknown(key: str) -> None:
    namespace, _, rest = key.partition(".")
    ours = bool(rest) and namespace in _NAMESPACES
    known = sorted({*BY_KEY, *FLINK_KEYS})
    if ours:
        misspelt = [name for name in known if _is_misspelt(key, name)]
    else:
        misspelt = [name for name in known if _is_in_misspelt_namespace(key, name)]
    if misspelt or key.startswith(_OWN):
        raise ConfigurationError(
            f"The configuration has {key!r}, which is not an option. "
            + _advice(misspelt or _nearest(key, BY_KEY))
        )
    if ours:
        note_once(
            f"{key} is neither an option of Scurry nor a key of Flink that it knows; nothing here "
            f"reads it. {_advice(_nearest(key, known))}"
        )


def _nearest(key: str, known: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(key, list(known), 3, _WORTH_NAMING)


def _advice(names: list[str]) -> str:
    page = "All options are in docs/reference/options.md."
    return f"Did you mean {' or '.join(names[:3])}? {page}" if names else page


def _is_misspelt(key: str, name: str) -> bool:
    """Whether ``key`` is ``name`` with other signs between the words, or with other letters in some
    of them. A whole word that differs is another key: ``min-pause`` is not ``max-pause``."""
    written, meant = _words(key), _words(name)
    if "".join(written) == "".join(meant):
        return True
    return len(written) == len(meant) and all(map(_is_misspelt_word, written, meant))


def _is_in_misspelt_namespace(key: str, name: str) -> bool:
    """In a namespace that is not ours, everything but the namespace has to be right."""
    (written, _, rest), (meant, _, same) = key.partition("."), name.partition(".")
    return rest == same and bool(rest) and _is_misspelt_word(written, meant)


def _is_misspelt_word(written: str, meant: str) -> bool:
    if written == meant or sorted(written) == sorted(meant):
        return True
    return difflib.SequenceMatcher(None, written, meant).ratio() >= _ALIKE


def _words(key: str) -> list[str]:
    return re.split(r"[._-]", key.lower())
