"""How hard hypothesis tries: the same examples every time, or HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Whole tables take a while to draw.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "ci", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=5000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
