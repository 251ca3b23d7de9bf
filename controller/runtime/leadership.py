"""Which work this process may do: all of it, that of the leader, or that of the shards that it holds.

Why it exists: the rooms that do the work need not know how many processes divide it. Invariant: `check` lets no write
through that another process may send at the same instant; work on a namespace begins only while `holds` names it.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from controller.runtime.fence import Fence
from controller.runtime.leader import Leader

Namespaces = Callable[[str], bool]
"""A set of namespaces: whether this one is in it."""
Work = Callable[[], Awaitable[None]]


class Begun(Protocol):
    """Work on these namespaces may begin."""

    def __call__(self, namespaces: Namespaces, /) -> None: ...


class Ended(Protocol):
    """Returns when no work on these namespaces is done any more."""

    async def __call__(self, namespaces: Namespaces, /) -> None: ...


class Leadership(Protocol):
    """The namespaces of one process."""

    def on_changes(self, begun: Begun, ended: Ended) -> None:
        """Set the listener for namespaces that this process begins or ends to work on."""
        ...

    def holds(self, namespace: str) -> bool:
        """Work on this namespace may begin here."""
        ...

    def check(self, namespace: str) -> None:
        """Raise LostLease unless a write about this namespace may be sent now; empty: about none."""
        ...

    async def run(self, work: Work) -> None:
        """Do `work` while this process may; returns only by an exception."""
        ...

    async def during(self, namespace: str, duty: Work) -> None:
        """Within `work`: run `duty` while this process holds the namespace. One process at most does so.

        A duty that ends by itself is done; it is begun again when the process has lost the namespace and got it back.
        """
        ...


class Unelected:
    """The only controller there is."""

    def on_changes(self, begun: Begun, ended: Ended) -> None:
        """No namespace comes or goes."""

    def holds(self, namespace: str) -> bool:
        """Always: this process leads every namespace."""
        return True

    def check(self, namespace: str) -> None:
        """Every write is let through."""

    async def run(self, work: Work) -> None:
        """Run the work at once: nobody else can lead."""
        await work()

    async def during(self, namespace: str, duty: Work) -> None:
        """Do the duty at once: nobody else can lead."""
        await duty()


class OneLeader(Unelected):
    """One process leads all namespaces, and the others wait."""

    def __init__(self, leader: Leader, fence: Fence) -> None:
        """The fence is that of the leader."""
        self._leader = leader
        self._fence = fence

    def check(self, namespace: str) -> None:
        """Every write needs the Lease."""
        self._fence.check()

    async def run(self, work: Work) -> None:
        """Run the work while the Lease is held."""
        await self._leader.run(work)
