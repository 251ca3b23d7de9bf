"""Objects of a former Rollout that the present one has to claim: see `domain/rollout/routes/claiming`.

Invariant: an object is unclaimed only if no Rollout of its namespace has its UID, and if this Rollout would have made
such an object: an extra Deployment beside its workload, the canary Service of one of its Services, or a companion
object that was made for a Rollout of its name. A pin is nobody's only if no Rollout names its Service. In a copy of a
namespace, the Rollout of the first namespace still lives and has the UID.
"""

from collections.abc import Iterable
from typing import Protocol

from controller.api.meta import Key, ObjectMeta
from controller.api.names import ROLLOUT_UID
from controller.api.networking import Service
from controller.api.rollout import Rollout
from controller.api.workload_kinds import KindName
from controller.api.workloads import label_value
from controller.domain.availability import Unavailable
from controller.domain.decision import Reference
from controller.domain.observation import Unclaimed
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.traffic.companions.companion import made_for_name
from controller.domain.traffic.plan.traffic_plan import services_of
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import DEPLOYMENTS, SERVICES
from controller.reconcilers.caches import CANARY_OF, MARKED, UID, Caches
from controller.reconcilers.caches import SERVICE as NAMED

DEPLOYMENT = KindName(DEPLOYMENTS.api_version, DEPLOYMENTS.kind)
SERVICE = KindName(SERVICES.api_version, SERVICES.kind)


class MadeObjects(Protocol):
    """The objects of the kinds that Rollouts name."""

    def made_for(
        self, kind: Kind, namespace: str, maker: str
    ) -> tuple[RawObject, ...] | Unavailable:
        """The objects that were made for a Rollout, or why they are not known; `maker` is a key of `finding_keys`."""
        ...


def unclaimed(
    caches: Caches, kinds: MadeObjects, rollout: Rollout, references: Iterable[Reference]
) -> tuple[Unclaimed, ...]:
    """Everything that a former Rollout left to this one."""
    return (
        *_extra_deployments(caches, rollout),
        *_canary_services(caches, rollout),
        *_companions(caches, kinds, rollout, references),
    )


def former_pins(caches: Caches, rollout: Rollout) -> tuple[Service, ...]:
    """Services of the namespace that a former Rollout pinned or made, and that no Rollout names now."""
    return tuple(
        found
        for found in caches.services.index(MARKED, rollout.metadata.namespace)
        if not caches.rollouts.index(NAMED, str(found.metadata.key))
        and not _is_anothers(caches, found.metadata)
    )


def _is_anothers(caches: Caches, made: ObjectMeta) -> bool:
    """A canary Service whose Rollout lives."""
    uid = made.annotations.get(ROLLOUT_UID, "")
    return bool(uid) and not _has_lost_its_rollout(caches, made, uid)


def _has_lost_its_rollout(caches: Caches, made: ObjectMeta, uid: str) -> bool:
    rollouts = caches.rollouts.index(UID, uid)
    here = any(rollout.metadata.namespace == made.namespace for rollout in rollouts)
    return bool(uid) and not here


def _extra_deployments(caches: Caches, rollout: Rollout) -> Iterable[Unclaimed]:
    ref = rollout.spec.workload_ref
    if (ref.group, ref.kind) != (DEPLOYMENT.group, DEPLOYMENT.kind):
        return
    beside = str(Key(rollout.metadata.namespace, label_value(ref.name)))
    for found in caches.deployments.index(CANARY_OF, beside):
        meta = found.metadata
        if not meta.deleting and _has_lost_its_rollout(
            caches, meta, meta.labels.get(ROLLOUT_UID, "")
        ):
            yield Unclaimed(DEPLOYMENT, meta.key, meta.resource_version)


def _canary_services(caches: Caches, rollout: Rollout) -> Iterable[Unclaimed]:
    plan = rollout.spec.strategy.plan
    if plan is None:
        return
    for pair in services_of(plan.traffic_routings, plan.disable_generate_canary_service):
        found = caches.services.get(Key(rollout.metadata.namespace, pair.canary))
        if found is None or pair.canary == pair.stable:
            continue
        meta = found.metadata
        if _has_lost_its_rollout(caches, meta, meta.annotations.get(ROLLOUT_UID, "")):
            yield Unclaimed(SERVICE, meta.key, meta.resource_version, labelled=False)


def _companions(
    caches: Caches, kinds: MadeObjects, rollout: Rollout, references: Iterable[Reference]
) -> Iterable[Unclaimed]:
    """Companion objects are looked for between releases only: a release claims them before it begins."""
    if moonshift_status(rollout.status).release:
        return
    for kind in {KindName(each.api_version, each.kind) for each in references}:
        found = kinds.made_for(
            kind, rollout.metadata.namespace, made_for_name(rollout.metadata.name)
        )
        for item in found if isinstance(found, tuple) else ():
            meta = item.metadata
            if _has_lost_its_rollout(caches, meta, meta.labels.get(ROLLOUT_UID, "")):
                yield Unclaimed(kind, meta.key, meta.resource_version)
