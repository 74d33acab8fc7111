"""What drives a job, whatever executes it: planning, commits, restarts, progress."""

from __future__ import annotations
