"""Creates, repairs and deletes the companion objects of gateway objects during a release.

They are created before the gateway object that may refer to them is written, and deleted after it no longer refers to
them. Invariant: only objects with the Rollout's UID are ever written or deleted, each over the version (or UID) that
was read; if an object of the same name exists already, it is kept and the release reports it.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from controller.domain.decision import Done, NotYet, Outcome, Reference, RoutePlan
from controller.domain.traffic.companions.companion import (
    CompanionObject,
    companion_body,
    place_of,
    read_companion,
    wanted_part,
    written_sum,
)
from controller.domain.traffic.plan.script_input import kind_of
from controller.domain.traffic.tree import Tree
from controller.effects.gateways import failed_writes
from controller.effects.gateways.contracts import CompanionObjects, GatewayObjects
from controller.errors import WRITE_REFUSED, AlreadyExists, Conflict, NotFound

LEAVING = 1.0
"""Seconds to wait while an object of the same name is still being deleted."""

CompanionsByPlace = dict[str, tuple[CompanionObject, ...]]
"""Companion objects of each gateway object, by its place."""


class RoutedObjects(GatewayObjects, CompanionObjects, Protocol):
    """Gateway objects and their companion objects."""


class Companions:
    """Creates and deletes companion objects."""

    def __init__(self, objects: RoutedObjects) -> None:
        self._objects = objects

    async def seen(
        self,
        references: tuple[Reference, ...],
        namespace: str,
        rollout_uid: str,
        others: tuple[Reference, ...] = (),
    ) -> CompanionsByPlace:
        """The companion objects of the Rollout, without those beside `others`; one without a reference is assigned to
        the first reference of its kind.
        """
        if not rollout_uid:
            return {}
        places = {place_of(reference) for reference in references}
        elsewhere = {place_of(reference) for reference in others} - places
        found: CompanionsByPlace = {}
        for first in {kind_of(item): item for item in reversed(references)}.values():
            for raw in await self._objects.made_for(first, namespace, rollout_uid):
                companion = read_companion(raw)
                if companion is None or companion.beside in elsewhere:
                    continue
                place = companion.beside if companion.beside in places else place_of(first)
                found[place] = (*found.get(place, ()), companion)
        return found

    async def make(
        self,
        wanted: Iterable[Tree],
        present: tuple[CompanionObject, ...],
        plan: RoutePlan,
        reference: Reference,
    ) -> Outcome:
        """Every wanted object exists with the wanted content."""
        by_identity = {item.identity: item for item in present}
        for manifest in wanted:
            kind = _as(reference, manifest)
            companion = by_identity.get(f"{kind.kind}/{kind.name}")
            if companion is not None and companion.leaving:
                subject = f"{kind.kind} {plan.namespace}/{kind.name}"
                return failed_writes.is_going(subject, companion.finalizers, LEAVING)
            if (
                companion is not None
                and companion.whole
                and companion.written == written_sum(manifest)
            ):
                continue
            outcome = await self._put(kind, manifest, companion, plan, reference)
            if not isinstance(outcome, Done):
                return outcome
        return Done()

    def absent(
        self,
        wanted: Iterable[Tree],
        present: tuple[CompanionObject, ...],
        plan: RoutePlan,
        reference: Reference,
    ) -> tuple[tuple[Reference, bytes], ...]:
        """The wanted objects that do not exist yet, each with its body."""
        known = {item.identity for item in present}
        kinds = ((_as(reference, manifest), manifest) for manifest in wanted)
        return tuple(
            (kind, _body(manifest, None, plan, reference))
            for kind, manifest in kinds
            if f"{kind.kind}/{kind.name}" not in known
        )

    async def _put(
        self,
        kind: Reference,
        manifest: Tree,
        companion: CompanionObject | None,
        plan: RoutePlan,
        reference: Reference,
    ) -> Outcome:
        subject = f"{kind.kind} {plan.namespace}/{kind.name}"
        body = _body(manifest, companion, plan, reference)
        try:
            if companion is None:
                await self._objects.create(kind, plan.namespace, body)
            else:
                await self._objects.replace(kind, plan.namespace, body)
        except AlreadyExists:
            return failed_writes.somebody_elses(subject, f"{reference}")
        except (NotFound, Conflict):
            return NotYet(f"{subject} was changed at the same time", failed_writes.CONFLICT)
        except WRITE_REFUSED as failure:
            return failed_writes.of_write(failure, subject)
        return Done(wrote=True)

    async def remove_except(
        self,
        present: tuple[CompanionObject, ...],
        keep: Iterable[str],
        namespace: str,
        reference: Reference,
    ) -> Outcome:
        """Delete all companion objects except those to keep (by identity)."""
        kept = set(keep)
        for companion in present:
            if companion.identity in kept or companion.leaving:
                continue
            kind = _as(reference, companion.live)
            try:
                await self._objects.remove(kind, namespace, companion.name, companion.uid)
            except Conflict:
                return NotYet(
                    f"{companion.identity} was made again at the same time", failed_writes.CONFLICT
                )
            except WRITE_REFUSED as failure:
                subject = f"{companion.kind} {namespace}/{companion.name}"
                return failed_writes.of_write(failure, subject)
        return Done()


def _body(
    manifest: Tree, companion: CompanionObject | None, plan: RoutePlan, reference: Reference
) -> bytes:
    """The object to write, with our marks."""
    return companion_body(
        manifest,
        companion,
        rollout=plan.rollout,
        uid=plan.rollout_uid,
        beside=place_of(reference),
    )


def _as(reference: Reference, manifest: Tree) -> Reference:
    """The manifest's object as a reference, to address it."""
    return msgspec.structs.replace(
        reference,
        api_version=str(manifest["apiVersion"]),
        kind=str(manifest["kind"]),
        name=wanted_part(manifest, "name"),
    )
