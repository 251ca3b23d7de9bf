"""Objects that stand beside a gateway object during a release: made, kept as written, and removed.

They are made before the object that may point at them is written, and removed after it points at them no more.
Invariant: only what carries the Rollout's UID is ever written or deleted, and each by what was seen of it (its resource
version, its UID); of two objects of one name the one that was there first wins, and the release says so.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from controller.domain.decision import Done, NotYet, Outcome, Reference, RoutePlan
from controller.domain.traffic.made import (
    Made,
    made_body,
    place_of,
    see_made,
    wanted_part,
    written_sum,
)
from controller.domain.traffic.scripts import kind_of
from controller.domain.traffic.tree import Tree
from controller.effects.gateways import refusals
from controller.effects.gateways.contracts import GatewayObjects, MadeObjects
from controller.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound

LEAVING = 1.0
"""Seconds until an object is made whose namesake is still being deleted."""

MadeOf = dict[str, tuple[Made, ...]]
"""What stands beside each object, by its place."""


class BesideObjects(GatewayObjects, MadeObjects, Protocol):
    """Gateway objects and what is made beside them."""


class Beside:
    """Makes and removes what stands beside gateway objects."""

    def __init__(self, objects: BesideObjects) -> None:
        self._objects = objects

    async def seen(
        self, references: tuple[Reference, ...], namespace: str, rollout_uid: str
    ) -> MadeOf:
        """All that was made for the Rollout; what belongs to no reference counts to the first of its kind."""
        if not rollout_uid:
            return {}
        places = [place_of(reference) for reference in references]
        found: MadeOf = {}
        for first in {kind_of(item): item for item in reversed(references)}.values():
            for raw in await self._objects.made_for(first, namespace, rollout_uid):
                made = see_made(raw)
                if made is None:
                    continue
                place = made.beside if made.beside in places else place_of(first)
                found[place] = (*found.get(place, ()), made)
        return found

    async def make(
        self,
        wanted: Iterable[Tree],
        present: tuple[Made, ...],
        plan: RoutePlan,
        reference: Reference,
    ) -> Outcome:
        """Every wanted object is there as it is wanted."""
        by_identity = {item.identity: item for item in present}
        for manifest in wanted:
            kind = _as(reference, manifest)
            made = by_identity.get(f"{kind.kind}/{kind.name}")
            if made is not None and made.leaving:
                return NotYet(f"{kind} is being deleted", LEAVING)
            if made is not None and made.whole and made.written == written_sum(manifest):
                continue
            outcome = await self._put(kind, manifest, made, plan, reference)
            if not isinstance(outcome, Done):
                return outcome
        return Done()

    async def _put(
        self,
        kind: Reference,
        manifest: Tree,
        made: Made | None,
        plan: RoutePlan,
        reference: Reference,
    ) -> Outcome:
        subject = f"{kind.kind} {plan.namespace}/{kind.name}"
        body = made_body(
            manifest, made, rollout=plan.rollout, uid=plan.rollout_uid, beside=place_of(reference)
        )
        try:
            if made is None:
                await self._objects.create(kind, plan.namespace, body)
            else:
                await self._objects.replace(kind, plan.namespace, body)
        except AlreadyExists:
            return refusals.somebody_elses(subject, f"{reference}")
        except (NotFound, Conflict):
            return NotYet(f"{subject} was changed at the same time", refusals.CONFLICT)
        except (Forbidden, Invalid) as failure:
            return refusals.of_write(failure, subject)
        return Done(wrote=True)

    async def clear(
        self,
        present: tuple[Made, ...],
        keep: Iterable[str],
        namespace: str,
        reference: Reference,
    ) -> Outcome:
        """What is not to be kept (by identity) is gone, or on its way."""
        kept = set(keep)
        for made in present:
            if made.identity in kept or made.leaving:
                continue
            kind = _as(reference, made.live)
            try:
                await self._objects.remove(kind, namespace, made.name, made.uid)
            except Conflict:
                return NotYet(f"{made.identity} was made again at the same time", refusals.CONFLICT)
            except Forbidden as failure:
                return refusals.forbidden(failure, f"{made.kind} {namespace}/{made.name}")
        return Done()


def _as(reference: Reference, manifest: Tree) -> Reference:
    """The manifest's object as a reference: it is addressed like one."""
    return msgspec.structs.replace(
        reference,
        api_version=str(manifest["apiVersion"]),
        kind=str(manifest["kind"]),
        name=wanted_part(manifest, "name"),
    )
