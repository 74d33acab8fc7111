"""Sources and sinks that come with Scurry."""
