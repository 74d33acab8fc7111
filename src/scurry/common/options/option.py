"""What an option is: one key of the configuration, with its type, its default and its meaning.

Scurry reads its settings through options only. An option knows the keys that older versions of
Flink or Scurry used for it, refuses a value that does not fit with the key, the value and what is
allowed, and is the one place where the default is written. ``docs/reference/options.md`` is
generated from the options.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from scurry.common.config_options import ConfigOption, ValueType
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError

__all__ = ["Option", "OptionType"]

T = TypeVar("T")

#: What a value can be. Durations are read as milliseconds, memory as bytes, an enumeration as the
#: choice it names, a list as a tuple of texts.
OptionType: TypeAlias = Literal[
    "boolean", "integer", "number", "duration", "memory", "enum", "string", "list", "map"
]

_READ_AS: dict[OptionType, ValueType] = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "float",
    "duration": "duration",
    "memory": "memory",
    "enum": "string",
    "string": "string",
    "list": "string",
    "map": "string",
}


@dataclass(frozen=True, eq=False)
class Option(Generic[T]):
    """A setting. ``T`` is the type of the value that :meth:`read` returns."""

    key: str
    type: OptionType
    default: T
    #: one sentence that says what the option decides
    doc: str
    #: other keys of the same setting, the preferred one first
    older: tuple[str, ...] = ()
    #: the values of an enumeration
    choices: tuple[str, ...] = ()
    #: other names of choices
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: the least number that is allowed
    least: float = -math.inf
    #: what sets the option in a program, for the reference page
    setter: str = ""
    #: false for a setting that can be set and read again and that changes nothing
    effective: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys of the option, the one that counts first."""
        return (self.key, *self.older)

    def read(self, configuration: Configuration) -> T:
        """The value, or the default where no key of the option is set."""
        key = self._key_in(configuration)
        if key is None:
            return self.default
        return cast(T, self._checked(key, configuration.get(ConfigOption(key, self._read_as))))

    def is_set(self, configuration: Configuration) -> bool:
        """Whether the configuration holds a value under any key of the option."""
        return self._key_in(configuration) is not None

    def write(self, configuration: Configuration, value: Any) -> None:
        """Set the option; a value that :meth:`read` would refuse is refused here."""
        if self.type == "list" and not isinstance(value, str):
            value = ",".join(value)
        option: ConfigOption[Any] = ConfigOption(self.key, self._read_as)
        probe = Configuration().set(option, value)
        self._checked(self.key, probe.get(option))
        text = probe.to_dict()[self.key]
        configuration.set_string(self.key, f"{text} ms" if self.type == "duration" else text)

    def clear(self, configuration: Configuration) -> None:
        """Unset the option under all of its keys."""
        for key in self.keys:
            configuration.remove_config(key)

    def read_entries(self, configuration: Configuration) -> dict[str, str]:
        """The entries of an option that is a map: those behind its key and a dot, and those of the
        text ``name:value,name:value`` under the key itself."""
        prefix = f"{self.key}."
        found = dict(_pairs(self.key, configuration.get_string(self.key, "")))
        for key, value in configuration.to_dict().items():
            if key.startswith(prefix):
                found[key.removeprefix(prefix)] = value
        return found

    def write_entries(self, configuration: Configuration, entries: Mapping[str, Any]) -> None:
        """Replace the entries of an option that is a map; values become text."""
        for name in self.read_entries(configuration):
            configuration.remove_config(f"{self.key}.{name}")
        configuration.remove_config(self.key)
        for name, value in entries.items():
            configuration.set_string(f"{self.key}.{name}", value)

    def allowed(self) -> str:
        """What a value can be, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.least > -math.inf:
            return f"{_ARTICLES[self.type]} from {self.least:g} on"
        return _ARTICLES[self.type]

    @property
    def _read_as(self) -> ValueType:
        return _READ_AS[self.type]

    def _key_in(self, configuration: Configuration) -> str | None:
        return next((key for key in self.keys if configuration.contains_key(key)), None)

    def _checked(self, key: str, value: Any) -> Any:
        if self.type == "list":
            return tuple(_items(value))
        if self.choices:
            return self._choice(key, value)
        if self.least > -math.inf and value < self.least:
            raise self._refusal(key, value)
        return value

    def _choice(self, key: str, value: str) -> str:
        wanted = _folded(value)
        for choice in self.choices:
            if _folded(choice) == wanted:
                return choice
        if wanted in self.aliases:
            return self.aliases[wanted]
        raise self._refusal(key, value)

    def _refusal(self, key: str, value: Any) -> ConfigurationError:
        return ConfigurationError(f"{key} is {value!r}; it must be {self.allowed()}.")


_ARTICLES: dict[OptionType, str] = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "duration": "a length of time",
    "memory": "a size of memory",
    "enum": "a name",
    "string": "a text",
    "list": "a list",
    "map": "a list of name:value",
}


def _folded(name: str) -> str:
    """Names of choices are the same in upper and lower case, with hyphens and underscores."""
    return name.strip().lower().replace("_", "-")


def _items(text: str) -> Iterable[str]:
    """Flink separates items by semicolons, its Python options by commas, and PyFlink writes some
    lists as ``['a', 'b']``; all are read."""
    if text.startswith("["):
        return Configuration.parse_list_value(text)
    separator = ";" if ";" in text else ","
    return (item for part in text.split(separator) if (item := part.strip()))


def _pairs(key: str, text: str) -> Iterable[tuple[str, str]]:
    for item in _items(text):
        name, colon, value = item.partition(":")
        if not colon:
            raise ConfigurationError(
                f"{key} is {text!r}; it must be a list of name:value, separated by commas."
            )
        yield name.strip(), value.strip()
