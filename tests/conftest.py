"""Settings shared by all tests: how hard hypothesis tries.

``HYPOTHESIS_PROFILE`` picks the profile by name; without it, ``ci`` where ``CI`` is set and
``dev`` elsewhere.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=False,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", parent=settings.get_profile("ci"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
