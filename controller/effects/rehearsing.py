"""Dry runs of the objects that a release makes itself: the extra Deployment, the canary Services.

Invariant: nothing is stored. An object of the same name is no refusal here, because the effect that creates it knows
whose it is; a webhook with side effects cannot answer a dry run, and the real write asks it.
"""

from collections.abc import Iterable

import msgspec

from controller.domain.decision import Done, RehearseObjects
from controller.effects.writes import Writes
from controller.errors import WRITE_REFUSED, AlreadyExists
from controller.kube.resources import DEPLOYMENTS, SERVICES, Resource

NO_DRY_RUN = "does not support dry run"
"""The API server's words, with code 400, if a webhook with side effects would have to be called."""


async def rehearse(writes: Writes, action: RehearseObjects) -> Done:
    """Send each object as a dry run. Raises the refusal of the API server."""
    await _each(writes, DEPLOYMENTS, action.namespace, action.deployments)
    await _each(writes, SERVICES, action.namespace, action.services)
    return Done()


async def _each(
    writes: Writes, resource: Resource, namespace: str, bodies: Iterable[msgspec.Raw]
) -> None:
    for body in bodies:
        try:
            await writes.rehearse(resource, namespace, bytes(body))
        except AlreadyExists:
            continue
        except WRITE_REFUSED as refused:
            if NO_DRY_RUN not in refused.message:
                raise
