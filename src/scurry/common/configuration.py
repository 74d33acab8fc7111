"""Settings of a program, as pairs of key and value.

A configuration comes from code, from a file or from the command line, so a value may be a Python
object or its text. It is converted when it is read, and a value that does not fit is refused with
its key. `Configuration.to_dict` gives texts only, which read back as the same values.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from scurry.common.config_options import ConfigOption, ValueType
from scurry.common.errors import ConfigurationError
from scurry.common.time import Duration, Time, milliseconds_of, parse_memory

__all__ = ["Configuration"]

T = TypeVar("T")
D = TypeVar("D")

_BASE64 = "base64:"


class Configuration:
    """Keys and values; setters return the configuration, so that calls can be chained."""

    def __init__(self, other: Configuration | None = None) -> None:
        self._data: dict[str, Any] = dict(other._data) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """A configuration that holds exactly those pairs."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Configuration:
        """The same as `from_dict`."""
        return cls.from_dict(values)

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Items of a list written as ``a;b`` or ``[a, b]``."""
        text = value.strip()
        bracketed = text.startswith("[") and text.endswith("]")
        parts = text[1:-1].split(",") if bracketed else text.split(";")
        return [item for part in parts if (item := part.strip().strip("'\""))]

    def get(self, option: ConfigOption[T]) -> T | None:
        """The value of a declared option, else its default."""
        reader: _Reader[T] = _READERS[option.value_type]
        return self._read(option.key, reader, option.default)

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set a declared option; the value must be of its type."""
        return self._put_as(option.key, _READERS[option.value_type], value)

    def get_string(self, key: str, default_value: D) -> str | D:
        """The value as text."""
        return self._read(key, _STRING, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a text."""
        return self._put_as(key, _STRING, value)

    def get_integer(self, key: str, default_value: D) -> int | D:
        """The value as a whole number."""
        return self._read(key, _INTEGER, default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a whole number."""
        return self._put_as(key, _INTEGER, value)

    def get_boolean(self, key: str, default_value: D) -> bool | D:
        """The value as true or false."""
        return self._read(key, _BOOLEAN, default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set true or false."""
        return self._put_as(key, _BOOLEAN, value)

    def get_float(self, key: str, default_value: D) -> float | D:
        """The value as a number."""
        return self._read(key, _FLOAT, default_value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a number."""
        return self._put_as(key, _FLOAT, value)

    def get_bytearray(self, key: str, default_value: D) -> bytearray | D:
        """The value as bytes."""
        return self._read(key, _BYTES, default_value)

    def set_bytearray(self, key: str, value: bytes | bytearray) -> Configuration:
        """Set bytes."""
        return self._put_as(key, _BYTES, value)

    def get_duration(self, key: str, default_value: D) -> int | D:
        """The value, such as ``"10 s"``, in milliseconds."""
        return self._read(key, _DURATION, default_value)

    def get_memory(self, key: str, default_value: D) -> int | D:
        """The value, such as ``"64 mb"``, in bytes."""
        return self._read(key, _MEMORY, default_value)

    def key_set(self) -> AbstractSet[str]:
        """All keys that are set."""
        return {*self._data}

    def contains_key(self, key: str) -> bool:
        """Whether that key is set."""
        return key in self._data

    def remove_config(self, key: str) -> bool:
        """Unset a key; tells whether it was set."""
        return self._data.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over every pair of another configuration, its keys behind `prefix`."""
        self._data.update({(prefix or "") + key: value for key, value in other._data.items()})
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Write every pair, unconverted, into a dict."""
        target_dict.update(self._data)

    def to_dict(self) -> dict[str, str]:
        """Every pair, the values as text."""
        return {key: _text(value) for key, value in self._data.items()}

    def _put(self, key: object, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"a configuration key is a non-empty text, got {key!r}")
        if value is None:
            raise ConfigurationError(
                f"configuration key {key!r} got None: call remove_config({key!r}) to unset it"
            )
        self._data[key] = value
        return self

    def _put_as(self, key: str, reader: _Reader[Any], value: Any) -> Configuration:
        return self._put(key, None if value is None else reader.read(key, value))

    def _read(self, key: str, reader: _Reader[T], default: D) -> T | D:
        return reader.read(key, self._data[key]) if key in self._data else default

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return f"Configuration.of({self._data!r})"

    def __str__(self) -> str:
        return f"{{{', '.join(f'{key}={value}' for key, value in self.to_dict().items())}}}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray):
        return _BASE64 + base64.b64encode(value).decode("ascii")
    if isinstance(value, Duration | Time | timedelta):
        return f"{milliseconds_of(value)} ms"
    return str(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(value)
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    return float(value)


def _boolean(value: Any) -> bool:
    text = _text(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(value)
    return text == "true"


def _duration(value: Any) -> int:
    return milliseconds_of(_text(value))


def _memory(value: Any) -> int:
    return parse_memory(_text(value))


def _bytes(value: Any) -> bytearray:
    if isinstance(value, bytes | bytearray):
        return bytearray(value)
    if not isinstance(value, str) or not value.startswith(_BASE64):
        raise ValueError(value)
    return bytearray(base64.b64decode(value.removeprefix(_BASE64), validate=True))


@dataclass(frozen=True, slots=True)
class _Reader(Generic[T]):
    """How values of one type are read, and what to write if they cannot be."""

    convert: Callable[[Any], T]
    advice: str

    def read(self, key: str, value: Any) -> T:
        try:
            return self.convert(value)
        except (ValueError, TypeError, ConfigurationError):
            raise ConfigurationError(
                f"cannot read {value!r}, the value of configuration key {key!r}, as {self.advice}"
            ) from None


_STRING = _Reader(_text, "text")
_BOOLEAN = _Reader(_boolean, "boolean: write true or false")
_INTEGER = _Reader(_integer, "integer: write a whole number such as 4")
_FLOAT = _Reader(_float, "number: write for example 0.5")
_DURATION = _Reader(_duration, "length of time: write for example '10 s'")
_MEMORY = _Reader(_memory, "size of memory: write for example '64 mb'")
_BYTES = _Reader(_bytes, f"bytes: write {_BASE64!r} and the bytes in base 64")
_READERS: dict[ValueType, _Reader[Any]] = {
    "string": _STRING,
    "boolean": _BOOLEAN,
    "integer": _INTEGER,
    "float": _FLOAT,
    "duration": _DURATION,
    "memory": _MEMORY,
}
