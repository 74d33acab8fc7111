"""The ``scurry`` console command: run a program, run the demonstration, examine the machine.

The command starts in a fraction of a second because nothing here imports PySpark, pandas or
Arrow; what a subcommand needs beyond click it imports when it is called.
"""
