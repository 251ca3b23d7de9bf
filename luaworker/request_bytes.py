"""Counts the bytes of waiting and running requests, and limits them.

Why: a queue that is bounded by calls alone could be full of the largest objects, which exceed the pod's memory.
Invariant: a tenant without a waiting or running request is always accepted, so other tenants' requests cannot exclude
it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from luaworker.errors import Overloaded

PER_TENANT = 32 * 1024 * 1024
TOTAL = 64 * 1024 * 1024


class RequestBytes:
    """Bytes of requests by tenant, from arrival to answer."""

    def __init__(self, per_tenant: int = PER_TENANT, total: int = TOTAL) -> None:
        self._per_tenant = per_tenant
        self._total = total
        self._held: Counter[str] = Counter()

    @property
    def size(self) -> int:
        """The sum of all tenants."""
        return self._held.total()

    @contextmanager
    def hold(self, tenant: str, size: int) -> Iterator[None]:
        """Counts a request for as long as the block lasts; raises `Overloaded` if it is too much."""
        mine = self._held[tenant]
        if mine and (mine + size > self._per_tenant or self.size + size > self._total):
            raise Overloaded(f"calls with {self.size} bytes are waiting or running already")
        self._held[tenant] += size
        try:
            yield
        finally:
            self._held[tenant] -= size
            if self._held[tenant] <= 0:
                del self._held[tenant]
