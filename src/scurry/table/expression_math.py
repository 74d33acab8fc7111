"""Arithmetic of the Table API's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.table.expression_core import ExpressionCore, given

if TYPE_CHECKING:
    from scurry.table.expression import Expression


class MathMethods(ExpressionCore):
    """Functions of numbers."""

    @property
    def exp(self) -> Expression:
        """e to the power of this."""
        return self._call("EXP")

    @property
    def log10(self) -> Expression:
        """The logarithm to base 10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Expression:
        """The logarithm to base 2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Expression:
        """The natural logarithm."""
        return self._call("LN")

    def log(self, base: Any = None) -> Expression:
        """The natural logarithm, or that to ``base``."""
        if base is None:
            return self._made(self.ln.node, "log", self)
        return self._function("LOG", base, self)

    @property
    def cosh(self) -> Expression:
        """The hyperbolic cosine."""
        return self._call("COSH")

    @property
    def sinh(self) -> Expression:
        """The hyperbolic sine."""
        return self._call("SINH")

    @property
    def sin(self) -> Expression:
        """The sine."""
        return self._call("SIN")

    @property
    def cos(self) -> Expression:
        """The cosine."""
        return self._call("COS")

    @property
    def tan(self) -> Expression:
        """The tangent."""
        return self._call("TAN")

    @property
    def cot(self) -> Expression:
        """The cotangent."""
        return self._call("COT")

    @property
    def asin(self) -> Expression:
        """The arc sine."""
        return self._call("ASIN")

    @property
    def acos(self) -> Expression:
        """The arc cosine."""
        return self._call("ACOS")

    @property
    def atan(self) -> Expression:
        """The arc tangent."""
        return self._call("ATAN")

    @property
    def tanh(self) -> Expression:
        """The hyperbolic tangent."""
        return self._call("TANH")

    @property
    def degrees(self) -> Expression:
        """Radians as degrees."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Expression:
        """Degrees as radians."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Expression:
        """The square root."""
        return self._call("SQRT")

    @property
    def abs(self) -> Expression:
        """The absolute value."""
        return self._call("ABS")

    @property
    def sign(self) -> Expression:
        """-1, 0 or 1."""
        return self._call("SIGN")

    def round(self, places: Any) -> Expression:
        """Rounded to so many digits behind the point."""
        return self._call("ROUND", places)

    def truncate(self, n: Any = 0) -> Expression:
        """Cut off behind so many digits behind the point."""
        return self._call("TRUNCATE", n)

    @property
    def bin(self) -> Expression:
        """The number in binary digits, as a text."""
        return self._call("BIN")

    @property
    def hex(self) -> Expression:
        """The number or the text in hexadecimal digits."""
        return self._call("HEX")

    @property
    def unhex(self) -> Expression:
        """The bytes of hexadecimal digits."""
        return self._call("UNHEX")

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression:
        """The value below which that part of the values lies."""
        return self._call("PERCENTILE", percentage, *given(frequency))
