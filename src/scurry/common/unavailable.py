"""Classes that programs can import, and that refuse to be used.

Some classes of PyFlink only wrap an object of Flink's JVM, or load a Java class by its name. A
program may import them, or name them in an annotation, without ever making one: their constructors
refuse to be called. Others belong to connectors that are planned: of those nothing can be used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.errors import NotSupportedError

__all__ = ["Planned", "unavailable"]


def unavailable(what: str, reason: str) -> Callable[..., Any]:
    """A function that raises, whatever it is called with; ``what`` is called, ``reason`` says why
    it cannot be and what to do instead."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NotSupportedError(f"{what}: {reason}.")

    # by this mark the compatibility table tells such a constructor from one that works
    refuse.__unavailable__ = reason  # type: ignore[attr-defined]
    return refuse


class Planned(type):
    """The class of the classes of a connector that is not there yet: they can be imported and named
    in annotations, and refuse to be called, to be derived from, and to be asked for anything."""

    #: by this mark the compatibility table tells such classes from those that work
    __unavailable__ = "can be imported; whoever uses it is told what to do meanwhile"

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        connector: str = "",
        instead: str = "",
    ) -> Planned:
        if bases:
            raise _planned(bases[0])
        made = super().__new__(cls, name, bases, {**namespace, "_connector": connector})
        type.__setattr__(made, "_instead", instead)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: Any, **said: str) -> None:
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        raise _planned(cls)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _planned(cls)


def _planned(kind: type) -> NotSupportedError:
    said = vars(kind)
    return NotSupportedError(
        f"{kind.__name__}: the connector for {said['_connector']} is planned and not there yet. "
        f"Until it is, {said['_instead']}."
    )
