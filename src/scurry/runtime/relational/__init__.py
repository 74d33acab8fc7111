"""Operators on relations: records are Arrow columns with a kind each, and stay so.

:mod:`~scurry.runtime.relational.relation` says what all of them have in common. What they keep for
each key lies in :mod:`scurry.runtime.columnar.keyed_columns` (typed values) and
:mod:`scurry.runtime.columnar.row_sets` (rows with counts).
"""
