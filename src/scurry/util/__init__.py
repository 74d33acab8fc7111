"""What PyFlink keeps in ``pyflink.util``: the names of exceptions."""
