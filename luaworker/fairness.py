"""Chooses the next call: a bounded queue per tenant, served in turn, with a limit of running calls per tenant.

Invariants:
 * at most `running` places are taken, at most `per_tenant` of them by one tenant, and at most `limit` callers wait;
 * all tenants with heavy calls share a part of the places, so the other places are always free for other tenants;
 * a place that becomes free goes to the tenant that has waited for its turn longest;
 * when the queue is full, the last call of the longest line is refused, not a new call of a shorter line.
So a flood of one tenant, or of several, costs the others at most the time of one call. Does not know children or
scripts.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from luaworker.errors import Overloaded


class FairQueue:
    """Places for calls, given to tenants in turn. For one event loop."""

    def __init__(
        self,
        running: int,
        per_tenant: int,
        limit: int,
        heavy: int | None = None,
        is_heavy: Callable[[str], bool] = lambda _tenant: False,
    ) -> None:
        """All heavy tenants together take at most `heavy` places."""
        self._free = running
        self._per_tenant = per_tenant
        self._heavy = running if heavy is None else heavy
        self._is_heavy = is_heavy
        self._limit = limit
        self._taken: Counter[str] = Counter()
        # In the order of their turns: a tenant that was served goes to the end.
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.waiting = 0

    @property
    def running(self) -> int:
        """Places that are taken."""
        return self._taken.total()

    @asynccontextmanager
    async def place(self, tenant: str, seconds: float) -> AsyncIterator[None]:
        """Holds one place; raises `Overloaded` if none came free in time."""
        await self._take(tenant, seconds)
        try:
            yield
        finally:
            self._give_back(tenant)

    async def _take(self, tenant: str, seconds: float) -> None:
        if self._free and tenant not in self._waiting and self._may_have_another(tenant):
            self._occupy(tenant)
            return
        if self.waiting >= self._limit:
            self._make_room(tenant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as gone:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The place came at the moment when its caller had been cancelled.
                self._give_back(tenant)
            else:
                self._leave_queue(tenant, turn)
            if isinstance(gone, TimeoutError):
                raise Overloaded(f"no free place within {seconds * 1000:.0f} ms") from None
            raise

    def _may_have_another(self, tenant: str) -> bool:
        if self._taken[tenant] >= self._per_tenant:
            return False
        if not self._is_heavy(tenant):
            return True
        return self._heavy > sum(n for name, n in self._taken.items() if self._is_heavy(name))

    def _make_room(self, tenant: str) -> None:
        """Refuses the last call of the longest line if that line is clearly longer than this tenant's; otherwise
        refuses this call."""
        longest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=tenant)
        refusal = Overloaded(f"{self.waiting} calls are waiting already")
        if len(self._waiting.get(longest, ())) <= len(self._waiting.get(tenant, ())) + 1:
            raise refusal
        last = self._waiting[longest].pop()
        self.waiting -= 1
        if not last.done():  # cancelled, but its task has not run since
            last.set_exception(refusal)

    def _leave_queue(self, tenant: str, turn: asyncio.Future[None]) -> None:
        line = self._waiting.get(tenant, deque())
        if turn not in line:
            return  # it was its turn, but its caller had given up already
        line.remove(turn)
        self.waiting -= 1
        if not line:
            del self._waiting[tenant]

    def _occupy(self, tenant: str) -> None:
        self._free -= 1
        self._taken[tenant] += 1

    def _give_back(self, tenant: str) -> None:
        self._free += 1
        self._taken[tenant] -= 1
        if not self._taken[tenant]:
            del self._taken[tenant]
        self._serve_next()

    def _serve_next(self) -> None:
        while self._free:
            tenant = next((t for t in self._waiting if self._may_have_another(t)), None)
            if tenant is None:
                return
            line = self._waiting[tenant]
            turn = line.popleft()
            self.waiting -= 1
            if line:
                self._waiting.move_to_end(tenant)
            else:
                del self._waiting[tenant]
            # Cancelled, but its task has not run since: the place goes to the next.
            if not turn.done():
                self._occupy(tenant)
                turn.set_result(None)
