"""When to stop writing a place that another writer changes back each time: two writers that fight change it for ever.

Used for gateway objects and autoscalers. Invariant: pure; the caller keeps the times of its last two writes.
"""

from datetime import timedelta

FIGHT_WINDOW = timedelta(minutes=1)
"""A place that changes again within this time after two writes has another writer."""
RETRY_AFTER_FIGHT = timedelta(minutes=5)
"""The time for which such a place is not written."""
