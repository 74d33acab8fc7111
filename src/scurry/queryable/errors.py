"""What is wrong with a query, in the one form that all answers of failure have."""

from __future__ import annotations

from typing import Any


class QueryError(Exception):
    """A query that cannot be answered: the status of HTTP, a code for programs, a text."""

    def __init__(self, status: int, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        #: further fields of the answer
        self.more = more

    def content(self) -> dict[str, Any]:
        """The answer."""
        return {"error": {"code": self.code, "message": self.message}, **self.more}
