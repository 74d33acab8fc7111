"""A griffe extension for the API pages: roles of docstrings become plain code.

Docstrings name things as Sphinx does, ``:class:`~scurry.common.Row```. On the pages that
mkdocstrings makes, such a name is shown as code, without the role and without the path in front of
a name that begins with a tilde.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|mod|data|attr|exc|obj):`(~?)([^`]+)`")
_CODE = re.compile(r"``([^`]+)``")


def as_code(text: str) -> str:
    """``text`` with roles, and code in double quotes, in Markdown."""
    text = _ROLE.sub(lambda m: f"`{m[2].rpartition('.')[2] if m[1] else m[2]}`", text)
    return _CODE.sub(r"`\1`", text)


class DocstringRoles(griffe.Extension):
    """Rewrites each docstring when it is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """An object was found."""
        if obj.docstring is not None:
            obj.docstring.value = as_code(obj.docstring.value)
