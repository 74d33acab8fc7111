"""The operators that run windows: contents, triggers' timers and state, merging, firing."""
