"""Operators: elements, watermarks and timers in; records out. No Spark, no plan.

A batch of records enters a task, runs through a chain of operators, and leaves as batches for
sinks and for the slots of later stages. Everything that can be done per batch is done per batch.
"""
