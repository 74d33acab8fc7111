"""Formats: between the bytes of messages and rows.

Each format is a pair of schemas in the sense of :mod:`scurry.common.serialization`. They decode and
encode whole batches; only a batch that holds something unusual is gone through one by one.
"""
