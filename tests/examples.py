"""How many examples a broad property tries: a fixed sample in `make test`, all of them in `make test-full`.

Why it exists: properties over every gateway kind take most of the time of the tests that need no cluster, and a change
of a script is noticed by the first examples. Invariant: the sample is the same in each run (the quick profile draws the
same examples each time). It must not be used where one test tries one property: that has all its examples.
"""

import os

QUICK = "quick"
PROFILE = os.environ.get("MOONSHIFT_PROFILE", QUICK)


def sampled(some: int, everything: int) -> int:
    """The number of examples of this run."""
    return some if PROFILE == QUICK else everything
