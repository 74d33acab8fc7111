"""Arrays, maps, rows and bitmaps in the Table API's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.table.expression_core import ExpressionCore, given

if TYPE_CHECKING:
    from scurry.table.expression import Expression


class CollectionMethods(ExpressionCore):
    """Functions of values that hold others."""

    @property
    def cardinality(self) -> Expression:
        """How many elements there are."""
        return self._call("CARDINALITY")

    @property
    def element(self) -> Expression:
        """The only element of an array; NULL if it is empty."""
        return self._call("ELEMENT")

    def array_append(self, addition: Any) -> Expression:
        """With an element more at the end."""
        return self._call("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression:
        """Whether an element is there."""
        return self._call("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression:
        """With each element once."""
        return self._call("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression:
        """Where an element first is, counted from 1; 0 if it is not."""
        return self._call("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression:
        """With an element more at the start."""
        return self._call("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression:
        """Without an element."""
        return self._call("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression:
        """Backwards."""
        return self._call("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression:
        """A part, both ends counted from 1 and included."""
        return self._call("ARRAY_SLICE", start_offset, *given(end_offset))

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression:
        """In order."""
        return self._call("ARRAY_SORT", *given(ascending_order, null_first))

    def array_union(self, array: Any) -> Expression:
        """The elements of either array, each once."""
        return self._call("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression:
        """The elements of all arrays, one after the other."""
        return self._call("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression:
        """The greatest element."""
        return self._call("ARRAY_MAX")

    def array_min(self) -> Expression:
        """The least element."""
        return self._call("ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression:
        """The elements as one text."""
        return self._call("ARRAY_JOIN", delimiter, *given(null_replacement))

    def array_except(self, array: Any) -> Expression:
        """The elements that the other array has not."""
        return self._call("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression:
        """The elements that both arrays have."""
        return self._call("ARRAY_INTERSECT", array)

    def split(self, delimiter: Any) -> Expression:
        """A text as an array of its parts."""
        return self._call("SPLIT", delimiter)

    @property
    def map_keys(self) -> Expression:
        """The keys."""
        return self._call("MAP_KEYS")

    @property
    def map_values(self) -> Expression:
        """The values."""
        return self._call("MAP_VALUES")

    @property
    def map_entries(self) -> Expression:
        """Keys and values as an array of rows."""
        return self._call("MAP_ENTRIES")

    def map_union(self, *maps: Any) -> Expression:
        """The entries of all maps, later ones winning."""
        return self._call("MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Expression:
        """With other values for some attributes."""
        return self._call("OBJECT_UPDATE", *kv)

    def bitmap_and(self, bitmap2: Any) -> Expression:
        """The numbers that both bitmaps have."""
        return self._call("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression:
        """The numbers that the other bitmap has not."""
        return self._call("BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Expression:
        """The numbers of either bitmap."""
        return self._call("BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Expression:
        """The numbers that one of the bitmaps has."""
        return self._call("BITMAP_XOR", bitmap2)

    def bitmap_build(self) -> Expression:
        """The bitmap of an array of numbers."""
        return self._call("BITMAP_BUILD")

    def bitmap_cardinality(self) -> Expression:
        """How many numbers the bitmap has."""
        return self._call("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression:
        """The bitmap of its bytes."""
        return self._call("BITMAP_FROM_BYTES")

    def bitmap_to_array(self) -> Expression:
        """The numbers of the bitmap."""
        return self._call("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression:
        """The bytes of the bitmap."""
        return self._call("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression:
        """The numbers of the bitmap as a text."""
        return self._call("BITMAP_TO_STRING")

    def bitmap_and_agg(self) -> Expression:
        """The numbers that all bitmaps of a group have."""
        return self._call("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression:
        """How many numbers all bitmaps of a group have."""
        return self._call("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build_agg(self) -> Expression:
        """The bitmap of the numbers of a group."""
        return self._call("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression:
        """How many different numbers a group has."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Expression:
        """The numbers of the bitmaps of a group."""
        return self._call("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression:
        """How many numbers the bitmaps of a group have."""
        return self._call("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Expression:
        """The numbers that an odd count of the bitmaps of a group have."""
        return self._call("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression:
        """How many numbers an odd count of the bitmaps of a group have."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG")
