"""Running compiled jobs on Spark. The only part of the compiler that knows PySpark."""
