"""The programs that are measured against each other, each run in a process of its own.

They are started with ``-m`` from the root of the repository, never by path: a script called
``pyflink.py`` would otherwise find itself when it imports ``pyflink``.
"""

from __future__ import annotations
