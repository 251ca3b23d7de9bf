"""Whether the gateways took the routes of a plan: the first object that is asked about, refused, or waited for.

A rule for own and shared routes alike. Invariants: pure; an object on which nobody reports is taken; a refusal outranks
a wait, because only a person ends it.
"""

from collections.abc import Iterable
from datetime import datetime

from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.decision.taken import NotAsked, NotTakenYet, RefusedByGateway
from controller.domain.observation import RouteSeen
from controller.domain.traffic.plan.taken import in_words


def is_to_be_asked(routes: Iterable[RouteSeen]) -> bool:
    """An object has no verdict about its present version."""
    return any(isinstance(route.taken, NotAsked) for route in routes)


def refusal_by_gateway(routes: Iterable[RouteSeen], namespace: str) -> Refusal | None:
    """The first object that its gateway refuses."""
    for route in routes:
        if isinstance(route.taken, RefusedByGateway):
            named = route.reference.name_in(namespace)
            text = (
                f"{in_words(route.taken, named)}; the old pods stay until it is taken. Correct the object or its "
                "script, or roll back"
            )
            return Refusal(reasons.ROUTE_REFUSED_BY_GATEWAY, text, object=named)
    return None


def waited_for(routes: Iterable[RouteSeen], namespace: str, since: datetime | None) -> str:
    """The first object that its gateway has not taken yet, in words; empty if there is none."""
    for route in routes:
        if isinstance(route.taken, NotTakenYet):
            written = f" (written at {since:%H:%M:%S} UTC)" if since is not None else ""
            return in_words(route.taken, f"{route.reference.name_in(namespace)}{written}")
    return ""
