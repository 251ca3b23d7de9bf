"""Asks, before a release changes anything, whether the API server accepts the objects that it makes itself.

Why: a quota, a policy or a validating webhook can refuse the extra Deployment, or the canary Service, which is made
after the step's pods. The release then stood still with a pinned Service, and with pods made in vain. Invariant: one
dry run for each object, in the pass that makes the first move; none in partition style, which makes no pods beside
those of the workload. Gateway objects and their companions have a rehearsal of their own (`routing`).
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from controller.api.networking import Service
from controller.domain.decision import Action, EnsureCanaryDeployment, PinService, RehearseObjects
from controller.domain.rollout.routes import services
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release
from controller.domain.traffic.companions.canary_service import canary_service_body


def rehearsal_of_objects(release: Release, moves: Iterable[Action]) -> tuple[Action, ...]:
    """The dry runs that come before the first of these moves."""
    match release.style:
        case Style.CANARY:
            made = tuple(move.body for move in moves if isinstance(move, EnsureCanaryDeployment))
            begins = bool(made) and not release.routes_in_use
        case Style.BLUE_GREEN:
            made = ()
            begins = not release.new_revision and any(isinstance(m, PinService) for m in moves)
        case Style.PARTITION:
            return ()
        case _:
            assert_never(release.style)
    copies = _copies(release) if begins else ()
    if not begins or not (made or copies):
        return ()
    return (RehearseObjects(release.namespace, made, copies),)


def _copies(release: Release) -> tuple[msgspec.Raw, ...]:
    """The canary Services; one that cannot be copied is refused where it is made."""
    bodies = (
        canary_service_body(copy, msgspec.json.encode(stable))
        for copy in services.foreseen_canary_services(release)
        if isinstance(stable := release.service(copy.stable.name), Service)
    )
    return tuple(msgspec.Raw(body) for body in bodies if isinstance(body, bytes))
