"""Postgres as a source and a sink, through psycopg."""
