"""Which examples property tests try.

Why: a test that fails for one in ten thousand examples tells of a defect to be found by looking for it, not by whoever
runs the tests next. So `make test` tries the same examples each time, and `make test-full` looks for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("MOONSHIFT_PROFILE", "quick"))
