"""Pickling of user data: by reference where a module offers the class, by value where none does.

Plain pickle names a class by module and name, which is fast and small. It fails for classes that
no importable module holds under that name: defined inside a function, or defined again in a
notebook. Those travel by value.
"""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle


def dumps(value: Any) -> bytes:
    """``value`` as a pickle that :func:`pickle.loads` understands."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return bytes(cloudpickle.dumps(value, protocol=5))
