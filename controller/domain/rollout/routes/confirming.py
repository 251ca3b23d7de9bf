"""A step counts as routed only when its gateways say that they took the objects, where their kinds say so.

Why: a gateway may refuse an object that the API server accepted, and then it serves what it served before, or nothing.
A release that did not ask removed old pods while no request reached the new ones. Invariants: only a step forward
waits; a rollback, a way back and an end never do. The verdicts are about the present versions of the objects, so a
gateway that refuses later, while old pods are still being removed, stops that.
"""

from controller.domain import reasons
from controller.domain.decision import ConfirmRoutes
from controller.domain.observation import RouteSeen
from controller.domain.rollout.routes import routing
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop
from controller.domain.traffic.taken_routes import is_to_be_asked, refusal_by_gateway, waited_for


def not_yet_taken(release: Release, index: int) -> Stop | None:
    """Wait until the gateways have taken the objects, which follow the step's plan; None if they have."""
    routes = _reported(release)
    if is_to_be_asked(routes):
        return release.stop(ConfirmRoutes(routing.wanted_plan(release, index)), brief=True)
    refused = refusal_by_gateway(routes, release.namespace)
    if refused is not None:
        return release.stop(problem=refused)
    words = untaken(release)
    if not words:
        return None
    text = messages.in_step(release, index, f"{messages.ROUTING}: {words}")
    return release.progressing(reasons.IN_ROLLING, text).stop(brief=True)


def untaken(release: Release) -> str:
    """The object that the step waits for, in words; empty if it waits for none."""
    return waited_for(_reported(release), release.namespace, release.ours.routed_at)


def _reported(release: Release) -> tuple[RouteSeen, ...]:
    """The routes that a step waits for; none on a way back."""
    return () if release.ours.returning else release.seen.routes
