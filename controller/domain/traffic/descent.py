"""Gateway objects are given back from the top down: first what nothing points at, later what that pointed at.

Why: a VirtualService names subsets of a DestinationRule. A proxy that learns at once that both are as they were may
drop the subset before the route to it, and answers 503 meanwhile (Istio's advice: take the route away, wait, then the
subset). What is deeper waits until nothing above it has been ours for the grace period; the caller keeps the time.
Invariant: judged by the records on the objects alone, which say how deep each one is: what was given back has none,
so nothing has to be remembered. An object without a depth counts as one that nothing points at.
"""

from typing import assert_never

from controller.domain.decision import Reference
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen, RouteUnreadable


def _depth(route: RouteSeen) -> int | None:
    """How deep an object is that follows a plan; None where none is followed and nothing is left beside it."""
    match route.state:
        case RoutePresent(in_use=in_use, depth=depth):
            return depth if in_use else None
        case RouteAbsent(left=left):
            return 0 if left else None
        case RouteUnreadable():
            return None
        case _:
            assert_never(route.state)


def depth_reached(routes: tuple[RouteSeen, ...]) -> int | None:
    """The least depth at which an object is still in use; None where none is.

    More than 0: whatever pointed at these objects is its owner's again.
    """
    return min((depth for route in routes if (depth := _depth(route)) is not None), default=None)


def next_down(routes: tuple[RouteSeen, ...], depth: int) -> tuple[Reference, ...]:
    """What to give back at this depth: all but what is deeper. Who is not in use may have something beside it."""
    return tuple(route.reference for route in routes if (_depth(route) or 0) <= depth)
