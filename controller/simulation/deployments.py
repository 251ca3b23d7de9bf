"""The Deployment controller, after pkg/controller/deployment of Kubernetes 1.35.

It models the behaviour that pacing depends on: when new ReplicaSets may grow, when old ones shrink (unavailable pods
first), the effects of a scale event and of a pause, and which ReplicaSet gets minReadySeconds. One `sync` is one pass
of the real controller, so that ours can come in between. Must not know anything of Moonshift.
"""

import msgspec
from msgspec import structs

from controller.api.meta import ObjectMeta, OwnerReference
from controller.api.names import POD_TEMPLATE_HASH
from controller.api.quantity import scaled_down, scaled_up
from controller.api.workloads import (
    Deployment,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetSpec,
)
from controller.simulation.state import DESIRED, MAX, REVISION, ClusterState, age, made_at


def max_surge(deployment: Deployment) -> int:
    """How many pods there may be beyond `replicas`."""
    rolling = deployment.spec.strategy.rolling_update
    if deployment.spec.strategy.type == "Recreate" or rolling is None:
        return 0
    return scaled_up(rolling.max_surge, deployment.spec.replicas)


def max_unavailable(deployment: Deployment) -> int:
    """How many pods may be missing; one if both limits round to zero."""
    rolling = deployment.spec.strategy.rolling_update
    replicas = deployment.spec.replicas
    if deployment.spec.strategy.type == "Recreate" or rolling is None or replicas == 0:
        return 0
    unavailable = scaled_down(rolling.max_unavailable, replicas)
    if unavailable == 0 and max_surge(deployment) == 0:
        return 1
    return min(unavailable, replicas)


class DeploymentController:
    """Makes ReplicaSets and sizes them."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def sync(self, deployment: Deployment) -> None:
        """One pass over one Deployment."""
        if deployment.spec.paused or self._is_scale_event(deployment):
            self._scale(deployment)
            if deployment.spec.paused:
                self._forget_old(deployment)
        else:
            self._roll(deployment)
        self._write_status(deployment)

    # --- ReplicaSets ----------------------------------------------------------------------------

    def _new(self, deployment: Deployment) -> ReplicaSet | None:
        """The oldest ReplicaSet of the Deployment's template; its minReadySeconds and number are brought up to date."""
        owned = self._cluster.replica_sets_of(deployment)
        wanted = self._cluster.hash_of(deployment.spec.template)
        same = [rs for rs in owned if self._cluster.hash_of(rs.spec.template) == wanted]
        if not same:
            return None
        found = min(same, key=lambda rs: made_at(rs.metadata))
        highest = max((age(rs)[0] for rs in owned if rs is not found), default=0)
        spec = structs.replace(found.spec, min_ready_seconds=deployment.spec.min_ready_seconds)
        found = self._cluster.replica_sets.put(structs.replace(found, spec=spec))
        if age(found)[0] > highest:
            return found
        return self._annotated(found, {REVISION: str(highest + 1)})

    def _make(self, deployment: Deployment) -> ReplicaSet:
        owned = self._cluster.replica_sets_of(deployment)
        revision = self._cluster.revision_of(deployment.spec.template)
        template = msgspec.json.decode(deployment.spec.template)
        labels = {**template["metadata"]["labels"], POD_TEMPLATE_HASH: revision}
        template["metadata"]["labels"] = labels
        meta = deployment.metadata
        highest = max((age(rs)[0] for rs in owned), default=0)
        owner = OwnerReference("apps/v1", "Deployment", meta.name, meta.uid, controller=True)
        made = ReplicaSet(
            metadata=ObjectMeta(
                name=f"{meta.name}-{revision}",
                namespace=meta.namespace,
                labels=labels,
                annotations={REVISION: str(highest + 1), **_marks(deployment)},
                owner_references=(owner,),
            ),
            spec=ReplicaSetSpec(
                min_ready_seconds=deployment.spec.min_ready_seconds,
                replicas=0,
                template=msgspec.Raw(msgspec.json.encode(template, order="sorted")),
            ),
        )
        return self._cluster.replica_sets.put(made)

    def _annotated(self, replica_set: ReplicaSet, annotations: dict[str, str]) -> ReplicaSet:
        meta = structs.replace(
            replica_set.metadata, annotations={**replica_set.metadata.annotations, **annotations}
        )
        return self._cluster.replica_sets.put(structs.replace(replica_set, metadata=meta))

    def _resize(self, replica_set: ReplicaSet, size: int, deployment: Deployment) -> bool:
        """Give a ReplicaSet its size, and the marks by which the next scale event is known."""
        spec = structs.replace(replica_set.spec, replicas=max(0, size))
        self._annotated(structs.replace(replica_set, spec=spec), _marks(deployment))
        return spec.replicas != replica_set.spec.replicas

    # --- scale events ---------------------------------------------------------------------------

    def _is_scale_event(self, deployment: Deployment) -> bool:
        return any(
            rs.active
            and rs.metadata.annotations.get(DESIRED, str(deployment.spec.replicas))
            != str(deployment.spec.replicas)
            for rs in self._cluster.replica_sets_of(deployment)
        )

    def _scale(self, deployment: Deployment) -> None:
        new = self._new(deployment)
        owned = self._cluster.replica_sets_of(deployment)
        active = [rs for rs in owned if rs.active]
        if not owned:
            return
        if len(active) < 2:
            newest = max(owned, key=lambda rs: made_at(rs.metadata))
            only = active[0] if active else new or newest
            if only.spec.replicas != deployment.spec.replicas:
                self._resize(only, deployment.spec.replicas, deployment)
        elif new is not None and self._saturated(deployment, new):
            for rs in active:
                if rs.metadata.uid != new.metadata.uid:
                    self._resize(rs, 0, deployment)
        elif deployment.spec.strategy.type != "Recreate":
            self._spread(deployment, active)

    def _saturated(self, deployment: Deployment, new: ReplicaSet) -> bool:
        replicas = deployment.spec.replicas
        desired = new.metadata.annotations.get(DESIRED)
        return (
            desired == str(replicas)
            and new.spec.replicas == replicas
            and new.status.available_replicas == replicas
        )

    def _spread(self, deployment: Deployment, active: list[ReplicaSet]) -> None:
        """Add or remove pods in proportion, the largest ReplicaSet first, which also gets the remainder."""
        replicas = deployment.spec.replicas
        allowed = replicas + max_surge(deployment) if replicas else 0
        to_add = allowed - sum(rs.spec.replicas for rs in active)
        newer_first = sorted(active, key=lambda rs: made_at(rs.metadata), reverse=to_add > 0)
        ordered = sorted(newer_first, key=lambda rs: -rs.spec.replicas)
        sizes: list[int] = []
        added = 0
        for rs in ordered:
            share = self._share(deployment, rs, to_add, added)
            added += share
            sizes.append(rs.spec.replicas + share)
        sizes[0] = max(0, sizes[0] + to_add - added)
        for rs, size in zip(ordered, sizes, strict=True):
            self._resize(rs, size, deployment)

    def _share(self, deployment: Deployment, rs: ReplicaSet, to_add: int, added: int) -> int:
        if to_add == added:
            return 0
        replicas = deployment.spec.replicas
        if replicas == 0:
            fraction = -rs.spec.replicas
        else:
            before = int(rs.metadata.annotations.get(MAX, "0")) or deployment.status.replicas
            scaled = rs.spec.replicas * (replicas + max_surge(deployment)) / before if before else 0
            fraction = int(scaled + 0.5) - rs.spec.replicas if before else 0
        return min(fraction, to_add - added) if to_add > 0 else max(fraction, to_add - added)

    # --- rolling --------------------------------------------------------------------------------

    def _roll(self, deployment: Deployment) -> None:
        new = self._new(deployment) or self._make(deployment)
        owned = self._cluster.replica_sets_of(deployment)
        old = [rs for rs in owned if rs.metadata.uid != new.metadata.uid]
        if self._grow_new(deployment, new, owned):
            return
        if any(rs.active for rs in old):
            self._shrink_old(deployment, new, [rs for rs in old if rs.active])
        elif _complete(deployment):
            self._forget_old(deployment)

    def _grow_new(
        self, deployment: Deployment, new: ReplicaSet, owned: tuple[ReplicaSet, ...]
    ) -> bool:
        replicas = deployment.spec.replicas
        if new.spec.replicas >= replicas:
            return new.spec.replicas > replicas and self._resize(new, replicas, deployment)
        room = replicas + max_surge(deployment) - sum(rs.spec.replicas for rs in owned)
        grown = new.spec.replicas + max(0, min(room, replicas - new.spec.replicas))
        # A ReplicaSet of unchanged size keeps its marks, so the next scale event uses the surge of an earlier move.
        return grown != new.spec.replicas and self._resize(new, grown, deployment)

    def _shrink_old(self, deployment: Deployment, new: ReplicaSet, old: list[ReplicaSet]) -> None:
        least = deployment.spec.replicas - max_unavailable(deployment)
        everything = new.spec.replicas + sum(rs.spec.replicas for rs in old)
        unavailable = new.spec.replicas - new.status.available_replicas
        most = everything - least - unavailable
        if most <= 0:
            return
        old.sort(key=lambda rs: made_at(rs.metadata))
        sizes = {rs.metadata.uid: rs.spec.replicas for rs in old}
        for rs in old:
            unhealthy = min(most, max(0, rs.spec.replicas - rs.status.available_replicas))
            sizes[rs.metadata.uid] -= unhealthy
            most -= unhealthy
        available = new.status.available_replicas + sum(rs.status.available_replicas for rs in old)
        spare = max(0, available - least)
        for rs in old:
            going = min(spare, sizes[rs.metadata.uid])
            sizes[rs.metadata.uid] -= going
            spare -= going
            if sizes[rs.metadata.uid] != rs.spec.replicas:
                self._resize(rs, sizes[rs.metadata.uid], deployment)

    def _forget_old(self, deployment: Deployment) -> None:
        limit = deployment.spec.revision_history_limit
        if limit is None:
            return
        wanted = self._cluster.hash_of(deployment.spec.template)
        owned = self._cluster.replica_sets_of(deployment)
        old = [rs for rs in owned if self._cluster.hash_of(rs.spec.template) != wanted]
        for rs in old[: max(0, len(old) - limit)]:
            if rs.status.replicas == 0 and rs.spec.replicas == 0:
                self._cluster.replica_sets.remove(rs.metadata.key)

    # --- status ---------------------------------------------------------------------------------

    def _write_status(self, deployment: Deployment) -> None:
        owned = self._cluster.replica_sets_of(deployment)
        wanted = self._cluster.hash_of(deployment.spec.template)
        same = [rs for rs in owned if self._cluster.hash_of(rs.spec.template) == wanted]
        total = sum(rs.status.replicas for rs in owned)
        available = sum(rs.status.available_replicas for rs in owned)
        status = DeploymentStatus(
            observed_generation=deployment.metadata.generation,
            replicas=total,
            updated_replicas=sum(rs.status.replicas for rs in same[:1]),
            ready_replicas=sum(rs.status.ready_replicas for rs in owned),
            available_replicas=available,
            unavailable_replicas=max(0, total - available),
        )
        self._cluster.deployments.put(structs.replace(deployment, status=status))


def _marks(deployment: Deployment) -> dict[str, str]:
    replicas = deployment.spec.replicas
    return {DESIRED: str(replicas), MAX: str(replicas + max_surge(deployment))}


def _complete(deployment: Deployment) -> bool:
    status, replicas = deployment.status, deployment.spec.replicas
    return (
        status.updated_replicas == status.replicas == status.available_replicas == replicas
        and deployment.observed
    )
