"""Remembers whose last call used more CPU than an honest one: the tenant's next call yields from its first moment.

Why: a tenant whose scripts loop begins a new call as soon as one was stopped, and each call has some milliseconds at
full weight before it is known for what it is. Invariant: one call that is over in time clears the name; only so many
names are kept; nothing is refused or shortened for it.
"""

from collections import OrderedDict

_TENANTS = 1024


class Reputation:
    """Tenants whose last call was heavy, the one heard of longest ago forgotten first."""

    def __init__(self, most: int = _TENANTS) -> None:
        self._most = most
        self._heavy: OrderedDict[str, None] = OrderedDict()

    def is_heavy(self, tenant: str) -> bool:
        """The tenant's last call was heavy."""
        return tenant in self._heavy

    def note(self, tenant: str, *, heavy: bool) -> None:
        """Learns how a call ended."""
        self._heavy.pop(tenant, None)
        if heavy:
            self._heavy[tenant] = None
            while len(self._heavy) > self._most:
                self._heavy.popitem(last=False)
