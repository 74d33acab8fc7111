"""The live engine: long-running tasks that Spark schedules, and that pass records on themselves.

A job is one Spark job whose tasks run for as long as it does. Each task reads its share of the
sources and runs one slot of every stage, in one process; records go from task to task by sockets,
without Spark. All tasks work in *rounds*, which the driver plans (:mod:`scurry.engine.rounds`).
"""
