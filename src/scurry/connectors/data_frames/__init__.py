"""Spark DataFrames as sources and as sinks.

A streaming DataFrame has a plan of its own, cut into micro-batches by Spark. Structured Streaming
offers no way to make such a plan part of another query whose micro-batches somebody else plans. So
a DataFrame *lands*: Spark writes it as Arrow files into the job's checkpoint, each of its batches
under its number, and a source of the job reads the files (:mod:`.landing`, :mod:`.feed`,
:mod:`.source`). On the way out it is the other way round: writers make Parquet files, and Spark
reads those of a micro-batch (:mod:`.sink`).
"""
