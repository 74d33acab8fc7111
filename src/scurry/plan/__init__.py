"""The plan: a program as frozen nodes, before anything is decided about how to run it."""
