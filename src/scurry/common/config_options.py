"""Declared settings: a key, the type of its value, and what holds when nobody sets it.

An option is declared once, ``ConfigOptions.key("a.b").int_type().default_value(1)``, and then read
with `Configuration.get`, which converts and checks the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

__all__ = ["ConfigOption", "ConfigOptions", "ValueType"]

T = TypeVar("T")

ValueType: TypeAlias = Literal["string", "boolean", "integer", "float", "duration", "memory"]


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """A declared setting; `default` is None where there is no default."""

    key: str
    value_type: ValueType
    default: T | None = None


class ConfigOptions:
    """Where the declaration of an option starts."""

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Declare an option of that key; its type comes next."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """An option that has a key and still needs a type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """The value is true or false."""
            return self._typed("boolean")

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number."""
            return self._typed("integer")

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number; Python knows just one kind."""
            return self._typed("integer")

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number."""
            return self._typed("float")

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number; Python knows just one kind."""
            return self._typed("float")

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """The value is a text."""
            return self._typed("string")

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a length of time, read as milliseconds."""
            return self._typed("duration")

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a size of memory, read as bytes."""
            return self._typed("memory")

        def _typed(self, value_type: ValueType) -> ConfigOptions.TypedConfigOptionBuilder[Any]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, value_type)

    class TypedConfigOptionBuilder(Generic[T]):
        """An option that has a key and a type, and still needs its default."""

        def __init__(self, key: str, value_type: ValueType) -> None:
            self._key = key
            self._value_type = value_type

        def default_value(self, value: T) -> ConfigOption[T]:
            """Finish the option with what holds when it is not set."""
            return ConfigOption(self._key, self._value_type, value)

        def no_default_value(self) -> ConfigOption[T]:
            """Finish the option without a default: it reads as None until it is set."""
            return ConfigOption(self._key, self._value_type)
