"""The requests of a release under faults, compared with those of the same release without one.

Why it exists: a controller that asks again and again reaches its end as well, and takes the API server from everybody
else. Invariant: requests are counted where they leave the controller, so refused ones count; Events and renewals of the
Lease count, too. It must do no I/O.
"""

from collections import Counter
from collections.abc import Mapping

START_COSTS = 60
"""Requests of a start after a kill: every kind is asked for, listed and watched. Measured were 38 to 48."""
SPREAD = 1.2
"""Runs without a fault differ by less: passes meet, or do not."""


def unbounded_work(
    usual: Mapping[str, int], asked: Mapping[str, int], faults: int, each: float
) -> str | None:
    """More requests than the release takes without a fault, and `each` for every fault; the most frequent are named."""
    most = SPREAD * sum(usual.values()) + each * faults
    found = sum(asked.values())
    if found <= most:
        return None
    more = (Counter(asked) - Counter(usual)).most_common(5)
    text = ", ".join(f"{name} {count} more" for name, count in more)
    return f"{found} requests under {faults} faults, {most:.0f} at most: {text}"
