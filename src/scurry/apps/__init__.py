"""Ready applications: whole programs, written against the public API alone."""
