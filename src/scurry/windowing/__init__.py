"""Windows as pure logic: which windows an element belongs to, when they fire, what they keep.

Nothing here runs anything. An *assigner* says which windows an element falls into, a *trigger* says
when a window's result is due, an *evictor* takes elements out around a firing. The operator that
asks them, and holds the contents of windows in durable state, is in :mod:`scurry.runtime`.
"""
