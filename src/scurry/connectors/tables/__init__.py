"""Sources and sinks of tables: connectors whose records are Arrow columns with kinds of changes."""
