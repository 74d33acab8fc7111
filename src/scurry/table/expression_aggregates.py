"""Aggregates in the Table API's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.table.expression_core import ExpressionCore, given

if TYPE_CHECKING:
    from scurry.table.expression import Expression


class AggregateMethods(ExpressionCore):
    """Functions of the values of a group."""

    @property
    def distinct(self) -> Expression:
        """The same aggregate over values that differ: ``col("a").count.distinct``."""
        return self._distinct()

    @property
    def sum(self) -> Expression:
        """The sum; NULL for no values."""
        return self._call("SUM")

    @property
    def sum0(self) -> Expression:
        """The sum; 0 for no values."""
        return self._call("SUM0")

    @property
    def min(self) -> Expression:
        """The least value."""
        return self._call("MIN")

    @property
    def max(self) -> Expression:
        """The greatest value."""
        return self._call("MAX")

    @property
    def count(self) -> Expression:
        """How many values there are that are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Expression:
        """The mean."""
        return self._call("AVG")

    @property
    def first_value(self) -> Expression:
        """The first value."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Expression:
        """The last value."""
        return self._call("LAST_VALUE")

    @property
    def stddev_pop(self) -> Expression:
        """The standard deviation of all values."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Expression:
        """The standard deviation that the values, a sample, tell."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Expression:
        """The variance of all values."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Expression:
        """The variance that the values, a sample, tell."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Expression:
        """The values as a multiset."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Expression:
        """The values as an array."""
        return self._call("ARRAY_AGG")

    def list_agg(self, separator: Any = None) -> Expression:
        """The texts as one, with a separator between them."""
        shown = "," if separator is None else separator
        return self._made(self._call("LISTAGG", *given(separator)).node, "listAgg", self, shown)
