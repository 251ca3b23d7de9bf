"""Remembers tenants whose last call used more CPU than a normal call: their next call has low priority from its
beginning.

Why: a tenant whose scripts loop begins a new call as soon as one was stopped, and each call has some milliseconds at
full weight before it is recognised. Invariant: one call that ends in time clears the tenant; the number of
remembered tenants is bounded; no call is refused or shortened because of it.
"""

from collections import OrderedDict

_TENANTS = 1024


class HeavyTenants:
    """Tenants whose last call was heavy; the oldest entry is forgotten first."""

    def __init__(self, most: int = _TENANTS) -> None:
        self._most = most
        self._heavy: OrderedDict[str, None] = OrderedDict()

    def is_heavy(self, tenant: str) -> bool:
        """The tenant's last call was heavy."""
        return tenant in self._heavy

    def note(self, tenant: str, *, heavy: bool) -> None:
        """Records whether the tenant's last call was heavy."""
        self._heavy.pop(tenant, None)
        if heavy:
            self._heavy[tenant] = None
            while len(self._heavy) > self._most:
                self._heavy.popitem(last=False)
