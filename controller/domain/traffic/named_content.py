"""The time from which a gateway object may name what deeper objects say: the mirror of `restoring/teardown_order`.

Why: a VirtualService names a subset of a DestinationRule. Istio sends both to a proxy in one push, and the proxy has to
ask for the subset's endpoints afterwards: for a moment the route leads to a subset that the proxy cannot use, and each
request is answered 503 (real Istio: up to 146 requests in one step). So what deeper objects say, and the companion
objects that a release makes, are written first; an object that names them follows a grace period after they were seen.
Invariant: only writes that change what an object says begin a wait, and a crash makes it longer, never shorter. Without
deeper objects and companion objects there is no wait.
"""

from datetime import datetime, timedelta

from controller.api.rollout import NamedContent
from controller.api.workloads import safe_hash
from controller.domain.observation import RoutePresent, RouteSeen


def noted(
    known: NamedContent | None, routes: tuple[RouteSeen, ...], now: datetime
) -> NamedContent | None:
    """The content that other objects may name, with the time at which it was first seen; None if there is none."""
    found = [
        f"{route.reference} {route.state.named}"
        for route in routes
        if isinstance(route.state, RoutePresent) and route.state.named
    ]
    if not found:
        return None
    content = safe_hash("\n".join(sorted(found)).encode(), 16)
    return known if known is not None and known.content == content else NamedContent(content, now)


def settles_in(known: NamedContent | None, grace: timedelta, now: datetime) -> float:
    """Seconds until objects may name what deeper ones say; 0 if they may."""
    if known is None:
        return 0.0
    return max(0.0, ((known.since or now) + grace - now).total_seconds())
