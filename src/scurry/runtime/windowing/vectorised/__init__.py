"""Windows with built-in aggregates, computed on whole columns with numpy.

An element becomes a row of *partials*: one column for each thing an aggregate needs to know (how
many, the sum, the least). Rows of the same key and the same slice of time are combined as soon as a
batch has come, rows of different batches when a window fires. State is partials as well, one record
for all keys of a slice.
"""
