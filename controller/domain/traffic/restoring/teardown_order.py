"""The order in which gateway objects are restored: first objects that nothing refers to, then the objects they referred
to.

Why: a VirtualService names subsets of a DestinationRule. If both were restored at once, a proxy might drop the subset
before the route to it, and answer 503 meanwhile (Istio's advice: remove the route, wait, then remove the subset).
Deeper objects wait until no object above them has been in use for the grace period; the caller keeps the time.
Invariant: computed from the records on the objects alone. A record says how deep its object is, and a restored object
has no record, so nothing has to be remembered. An object without a depth has depth 0.
"""

from typing import assert_never

from controller.domain.decision import Reference
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen, RouteUnreadable


def _depth(route: RouteSeen) -> int | None:
    """Depth of an object in use; None if the object is not in use and has no companion objects."""
    match route.state:
        case RoutePresent(in_use=in_use, depth=depth):
            return depth if in_use else None
        case RouteAbsent(left=left):
            return 0 if left else None
        case RouteUnreadable():
            return None
        case _:
            assert_never(route.state)


def lowest_depth_in_use(routes: tuple[RouteSeen, ...]) -> int | None:
    """The smallest depth at which an object is still in use; None if none is in use.

    More than 0 means that all objects that referred to these are restored.
    """
    return min((depth for route in routes if (depth := _depth(route)) is not None), default=None)


def next_to_restore(routes: tuple[RouteSeen, ...], depth: int) -> tuple[Reference, ...]:
    """The objects to restore now: all but deeper ones. An object that is not in use may still have companion
    objects.
    """
    return tuple(route.reference for route in routes if (_depth(route) or 0) <= depth)
