"""What the effects do, done to the simulated cluster.

Invariant: the same preconditions as the real effects (generation, latch, UID, resource version), broken ones raised as
`Conflict`; what a person has to change comes back as a `Refusal`. Nothing here decides.
"""

from typing import assert_never

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.networking import Service
from controller.api.podsets import PodSetSpec
from controller.api.rollout import OwnersValues, Rollout, RolloutStatus
from controller.api.workload_kinds import DEPLOYMENT
from controller.api.workloads import Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdate
from controller.domain import reasons
from controller.domain.config.references import stamped
from controller.domain.decision import (
    Action,
    AskWhyNotMade,
    ConfigAction,
    DeleteCanaryDeployment,
    DeleteCanaryService,
    DeletePod,
    DeleteReplicaSet,
    Done,
    DropConfig,
    EnsureCanaryDeployment,
    EnsureCanaryService,
    EnsureRoutes,
    FieldOfSpec,
    FreeAutoscaler,
    HoldAutoscaler,
    HoldReplicaSet,
    HoldWorkload,
    KeepConfig,
    LabelPod,
    LabelWorkload,
    MarkPod,
    MoveSet,
    Outcome,
    PaceDeployment,
    PinService,
    PrepareRollout,
    RecordRelease,
    Refusal,
    RehearseRoutes,
    ReleaseDeployment,
    ReleaseSet,
    RemoveFinalizer,
    RestoreConfig,
    RestoreRoutes,
    RevertTemplate,
    ScaleCanaryDeployment,
    ScaleReplicaSet,
    SetCurrentRevision,
    SetFinalizers,
    StampTemplate,
    UnpinService,
)
from controller.domain.pods.hpa import STILL
from controller.domain.rollout.routing import made_for
from controller.domain.traffic.canary_service import canary_selector, canary_service_body
from controller.errors import Conflict, NotFound
from controller.simulation.cluster import Cluster
from controller.simulation.gateways import lead_routes, set_finalizers
from controller.simulation.held import hold_workload, name_current, write_replica_set
from controller.simulation.people import People
from controller.simulation.pods import terminate

_NO_LATCH: dict[str, str | None] = {names.LATCH: None}


def _conflict(what: str) -> Conflict:
    return Conflict(what, status=409)


def _merged(present: dict[str, str], patch: dict[str, str | None]) -> dict[str, str]:
    """A merge patch of a map: None takes an entry out."""
    joined = {**present, **patch}
    return {key: value for key, value in joined.items() if value is not None}


class Writes:
    """The writes of one pass over one Rollout; knows its resource version as it moves."""

    def __init__(self, cluster: Cluster, seen: Rollout) -> None:
        self._cluster = cluster
        self._rollout = seen.metadata.key
        self.version = seen.metadata.resource_version

    def apply(self, action: Action) -> Outcome:
        """Bring one fact about, or refuse it where somebody asked for that."""
        return self._cluster.refusals.get(type(action).__name__) or self._apply(action)

    def _apply(self, action: Action) -> Outcome:
        match action:
            case PrepareRollout() | RemoveFinalizer():
                return self._rollout_itself(action)
            case EnsureRoutes() | RehearseRoutes() | RestoreRoutes():
                return lead_routes(self._cluster, action)
            case PinService() | UnpinService() | EnsureCanaryService() | DeleteCanaryService():
                return self._service(action)
            case EnsureCanaryDeployment() | ScaleCanaryDeployment() | DeleteCanaryDeployment():
                return self._canary(action)
            case LabelPod() | MarkPod() | DeletePod():
                return self._pod(action)
            case (
                RecordRelease()
                | AskWhyNotMade()
                | SetFinalizers()
                | KeepConfig()
                | RestoreConfig()
                | DropConfig()
            ):
                return self._beside_the_workload(action)
            case (
                MoveSet() | ReleaseSet() | SetCurrentRevision() | RevertTemplate() | StampTemplate()
            ):
                return self._pod_set(action)
            case HoldAutoscaler() | FreeAutoscaler():
                return self._autoscaler(action)
            case (
                LabelWorkload()
                | PaceDeployment()
                | ReleaseDeployment()
                | ScaleReplicaSet()
                | DeleteReplicaSet()
                | HoldReplicaSet()
                | HoldWorkload()
            ):
                return self._workload(action)
            case _:
                assert_never(action)

    def _why_not_made(self, action: AskWhyNotMade) -> Done | Refusal:
        """What the Events of a set would say."""
        if not self._cluster.unmakeable:
            return Done()
        return Refusal("FailedCreate", f"{action.counts}; {self._cluster.unmakeable}")

    def write_status(self, status: RolloutStatus) -> None:
        """Replace the status, over the version that was looked at."""
        rollout = self._cluster.rollouts.get(self._rollout)
        if rollout is None or status == rollout.status:
            return
        if rollout.metadata.resource_version != self.version:
            raise _conflict("the Rollout has changed")
        self._cluster.rollouts.put(structs.replace(rollout, status=status))

    def _template(self, action: RevertTemplate | StampTemplate) -> Done:
        """Through admission, like the real effects."""
        if isinstance(action, StampTemplate):
            return self._stamp(action)
        people = People(self._cluster)
        if action.kind == DEPLOYMENT:
            source = self._cluster.replica_sets[action.source]
            people.edit(action.workload, template=source.spec.template)
        else:
            people.edit_set(action.workload, template=self._cluster.templates[action.source])
        return Done(wrote=True)

    def _stamp(self, action: StampTemplate) -> Done:
        people, key = People(self._cluster), action.workload
        if action.kind == DEPLOYMENT:
            old = self._looked_at(key, action.generation).spec.template
            people.edit(key, template=_stamped(old, action.stamp))
        else:
            found = self._cluster.pod_sets[key]
            people.edit_set(key, template=_stamped(found.spec.template, action.stamp))
        return Done(wrote=True)

    # --- the Rollout ----------------------------------------------------------------------------

    def _rollout_itself(self, action: PrepareRollout | RemoveFinalizer) -> Done:
        rollout = self._cluster.rollouts.get(self._rollout)
        if rollout is None or rollout.metadata.resource_version != self.version:
            raise _conflict("the Rollout has changed")
        meta = rollout.metadata
        others = tuple(name for name in meta.finalizers if name != names.ROLLOUT_FINALIZER)
        match action:
            case PrepareRollout(plan_hash=plan_hash):
                changed = structs.replace(
                    meta,
                    finalizers=(*others, names.ROLLOUT_FINALIZER),
                    annotations={**meta.annotations, names.PLAN_HASH: plan_hash},
                )
            case RemoveFinalizer():
                changed = structs.replace(meta, finalizers=others)
            case _:
                assert_never(action)
        stored = self._cluster.rollouts.put(structs.replace(rollout, metadata=changed))
        self.version = stored.metadata.resource_version
        return Done(wrote=True)

    def _beside_the_workload(
        self, action: RecordRelease | AskWhyNotMade | SetFinalizers | ConfigAction
    ) -> Outcome:
        if isinstance(action, AskWhyNotMade):
            return self._why_not_made(action)
        if isinstance(action, ConfigAction):
            return self._cluster.configs.apply(action)
        if isinstance(action, SetFinalizers):
            return set_finalizers(self._cluster, action)
        kept = {**self._cluster.histories, action.history.metadata.name: action.history}
        self._cluster.histories = dict(list(kept.items())[-action.keep :])
        return Done(wrote=True)

    # --- Services -------------------------------------------------------------------------------

    def _service(
        self, action: PinService | UnpinService | EnsureCanaryService | DeleteCanaryService
    ) -> Outcome:
        match action:
            case PinService(label=label, revision=revision):
                said = msgspec.json.encode({"label": label, "revision": revision}).decode()
                return self._select(action, {names.PINNED: "true"}, {names.PIN: said}, revision)
            case UnpinService():
                return self._select(action, {names.PINNED: None}, {names.PIN: None}, None)
            case EnsureCanaryService():
                return self._canary_service(action)
            case DeleteCanaryService(service=key, uid=uid):
                found = self._cluster.services.get(key)
                if found is not None and found.metadata.uid == uid:
                    self._cluster.services.delete(key)
                return Done(wrote=True)
            case _:
                assert_never(action)

    def _select(
        self,
        action: PinService | UnpinService,
        labels: dict[str, str | None],
        annotations: dict[str, str | None],
        revision: str | None,
    ) -> Done:
        found = self._cluster.services.get(action.service)
        if found is None:
            raise NotFound(f"Service {action.service}", status=404)
        if found.metadata.resource_version != action.resource_version:
            raise _conflict("the Service has changed")
        meta = structs.replace(
            found.metadata,
            labels=_merged(found.metadata.labels, labels),
            annotations=_merged(found.metadata.annotations, annotations),
        )
        selector = _merged(found.spec.selector, {action.label: revision})
        spec = structs.replace(found.spec, selector=selector)
        self._cluster.services.put(structs.replace(found, metadata=meta, spec=spec))
        return Done(wrote=True)

    def _canary_service(self, action: EnsureCanaryService) -> Outcome:
        stable = self._cluster.services.get(action.stable)
        if stable is None:
            return Refusal(reasons.SERVICE_NOT_FOUND, f"Service {action.stable} does not exist")
        body = canary_service_body(action, msgspec.json.encode(stable))
        if isinstance(body, Refusal):
            return body
        existing = self._cluster.services.get(Key(action.stable.namespace, action.name))
        if existing is None:
            self._cluster.services.put(msgspec.json.decode(body, type=Service))
            return Done(wrote=True)
        if not made_for(existing, action.rollout_uid):
            return Refusal(reasons.SERVICE_NOT_OURS, f"Service {action.name} is not ours")
        selector = canary_selector(
            existing.spec.selector, action.label, action.revision, action.selector_patch
        )
        spec = structs.replace(existing.spec, selector=selector)
        self._cluster.services.put(structs.replace(existing, spec=spec))
        return Done(wrote=True)

    # --- the extra Deployment -------------------------------------------------------------------

    def _canary(
        self, action: EnsureCanaryDeployment | ScaleCanaryDeployment | DeleteCanaryDeployment
    ) -> Done:
        found = self._cluster.deployments.get(action.deployment)
        match action:
            case EnsureCanaryDeployment(body=body):
                if found is None:
                    made = msgspec.json.decode(body, type=Deployment)
                    self._cluster.deployments.put(made)
            case ScaleCanaryDeployment(uid=uid, replicas=replicas):
                if found is None or found.metadata.uid != uid:
                    raise _conflict("the extra Deployment is another one")
                spec = structs.replace(found.spec, replicas=replicas)
                self._cluster.deployments.put(structs.replace(found, spec=spec))
            case DeleteCanaryDeployment(uid=uid):
                if found is not None and found.metadata.uid == uid:
                    self._cluster.deployments.delete(action.deployment)
            case _:
                assert_never(action)
        return Done(wrote=True)

    # --- the workload ---------------------------------------------------------------------------

    def _workload(
        self,
        action: LabelWorkload
        | PaceDeployment
        | ReleaseDeployment
        | ScaleReplicaSet
        | DeleteReplicaSet
        | HoldReplicaSet
        | HoldWorkload,
    ) -> Done:
        match action:
            case LabelWorkload():
                self._label_workload(action)
            case PaceDeployment():
                self._pace(action)
            case ReleaseDeployment():
                self._release(action)
            case HoldWorkload():
                return hold_workload(self._cluster, action)
            case ScaleReplicaSet() | DeleteReplicaSet() | HoldReplicaSet():
                return write_replica_set(self._cluster, action)
            case _:
                assert_never(action)
        return Done(wrote=True)

    def _label_workload(self, action: LabelWorkload) -> None:
        patch = {names.WORKLOAD_TYPE: action.workload_type or None}
        if action.kind == DEPLOYMENT:
            found = self._deployment(action.workload)
            meta = structs.replace(found.metadata, labels=_merged(found.metadata.labels, patch))
            self._cluster.deployments.put(structs.replace(found, metadata=meta))
        else:
            pod_set = self._cluster.pod_sets[action.workload]
            meta = structs.replace(pod_set.metadata, labels=_merged(pod_set.metadata.labels, patch))
            self._cluster.pod_sets.put(structs.replace(pod_set, metadata=meta))

    def _deployment(self, key: Key) -> Deployment:
        found = self._cluster.deployments.get(key)
        if found is None:
            raise NotFound(f"Deployment {key}", status=404)
        return found

    def _looked_at(self, key: Key, generation: int) -> Deployment:
        found = self._deployment(key)
        if found.metadata.generation != generation:
            raise _conflict("the Deployment has changed")
        return found

    def _pace(self, action: PaceDeployment) -> None:
        found = self._looked_at(action.workload, action.generation)
        meta, paused = found.metadata, found.spec.paused
        if action.latch:
            if meta.annotations.get(names.LATCH) != action.latch:
                raise _conflict("the latch is another one")
            annotations = _merged(meta.annotations, _NO_LATCH)
            meta, paused = structs.replace(meta, annotations=annotations), False
        spec = structs.replace(
            found.spec,
            paused=paused,
            strategy=DeploymentStrategy(
                "RollingUpdate", RollingUpdate(action.max_surge, action.max_unavailable)
            ),
            min_ready_seconds=action.min_ready_seconds,
            progress_deadline_seconds=action.progress_deadline_seconds,
        )
        self._cluster.deployments.put(structs.replace(found, metadata=meta, spec=spec))

    def _release(self, action: ReleaseDeployment) -> None:
        found = self._looked_at(action.workload, action.generation)
        meta = _without_marks(found.metadata, action)
        spec = found.spec if action.owners is None else _owners_spec(found.spec, action.owners)
        self._cluster.deployments.put(structs.replace(found, metadata=meta, spec=spec))

    # --- sets of pods ---------------------------------------------------------------------------

    def _pod_set(
        self, action: MoveSet | ReleaseSet | SetCurrentRevision | RevertTemplate | StampTemplate
    ) -> Done:
        if isinstance(action, RevertTemplate | StampTemplate):
            return self._template(action)
        if isinstance(action, SetCurrentRevision):
            return name_current(self._cluster, action)
        found = self._cluster.pod_sets.get(action.workload)
        if found is None:
            raise NotFound(f"{action.kind.kind} {action.workload}", status=404)
        if found.metadata.generation != action.generation:
            raise _conflict("the set has changed")
        match action:
            case MoveSet(latch=latch, strategy=strategy, fields=fields):
                meta, spec = found.metadata, found.spec
                if latch and meta.annotations.get(names.LATCH) != latch:
                    raise _conflict("the latch is another one")
                meta = structs.replace(meta, annotations=_merged(meta.annotations, _NO_LATCH))
                spec = structs.replace(spec, update_strategy=strategy)
            case ReleaseSet(owners=owners, fields=fields):
                meta = _without_marks(found.metadata, action)
                spec = found.spec
                if owners is not None:
                    own = owners.strategy or msgspec.Raw(b"{}")
                    spec = structs.replace(spec, update_strategy=own)
            case _:
                assert_never(action)
        for field in fields:
            spec = _with_field(spec, field)
        self._cluster.pod_sets.put(structs.replace(found, metadata=meta, spec=spec))
        return Done(wrote=True)

    # --- autoscalers ----------------------------------------------------------------------------

    def _autoscaler(self, action: HoldAutoscaler | FreeAutoscaler) -> Done:
        found = self._cluster.autoscalers.get(action.autoscaler)
        if found is None:
            raise NotFound(f"HorizontalPodAutoscaler {action.autoscaler}", status=404)
        if found.metadata.resource_version != action.resource_version:
            raise _conflict("the autoscaler has changed")
        behavior: msgspec.Raw | msgspec.UnsetType
        match action:
            case HoldAutoscaler(original=original):
                patch: dict[str, str | None] = {names.ORIGINAL_BEHAVIOR: original}
                behavior = msgspec.Raw(msgspec.json.encode(STILL))
            case FreeAutoscaler(behavior=owners):
                patch = {names.ORIGINAL_BEHAVIOR: None}
                behavior = msgspec.UNSET if owners is None else owners
            case _:
                assert_never(action)
        meta = structs.replace(
            found.metadata, annotations=_merged(found.metadata.annotations, patch)
        )
        spec = structs.replace(found.spec, behavior=behavior)
        self._cluster.autoscalers.put(structs.replace(found, metadata=meta, spec=spec))
        return Done(wrote=True)

    # --- pods -----------------------------------------------------------------------------------

    def _pod(self, action: LabelPod | MarkPod | DeletePod) -> Done:
        match action:
            case LabelPod(rollout_id=rollout_id):
                batch = str(action.batch)
                labels: dict[str, str | None] = {
                    names.ROLLOUT_ID: rollout_id,
                    names.ROLLOUT_BATCH_ID: batch,
                    names.ROLLOUT_BATCH_ID_APPS: batch,
                }
                return self._label_pod(action.pod, action.uid, labels)
            case MarkPod(rollout_id=rollout_id):
                marks = {names.NO_NEED_UPDATE: rollout_id or None}
                return self._label_pod(action.pod, action.uid, marks)
            case DeletePod():
                return self._delete_pod(action)
            case _:
                assert_never(action)

    def _delete_pod(self, action: DeletePod) -> Done:
        pod = self._cluster.pods.get(action.pod)
        if pod is not None and pod.metadata.uid == action.uid:
            terminate(self._cluster, pod)
        return Done(wrote=True)

    def _label_pod(self, key: Key, uid: str, patch: dict[str, str | None]) -> Done:
        pod = self._cluster.pods.get(key)
        if pod is None:
            return Done()
        if pod.metadata.uid != uid:
            raise _conflict("the pod is another one")
        labels = _merged(pod.metadata.labels, patch)
        self._cluster.pods.put(
            structs.replace(pod, metadata=structs.replace(pod.metadata, labels=labels))
        )
        return Done(wrote=True)


def _stamped(template: msgspec.Raw, stamp: str) -> msgspec.Raw:
    tree = msgspec.json.decode(template, type=JsonObject)
    return msgspec.Raw(msgspec.json.encode(stamped(tree, stamp), order="sorted"))


def _without_marks(present: ObjectMeta, action: ReleaseDeployment | ReleaseSet) -> ObjectMeta:
    if {*action.annotations} - present.annotations.keys():
        raise _conflict("an annotation of ours is not there")
    if {*action.labels} - present.labels.keys():
        raise _conflict("a label of ours is not there")
    return structs.replace(
        present,
        annotations=_merged(present.annotations, dict.fromkeys(action.annotations)),
        labels=_merged(present.labels, dict.fromkeys(action.labels)),
    )


def _with_field(spec: PodSetSpec, field: FieldOfSpec) -> PodSetSpec:
    match field.name:
        case "minReadySeconds":
            seconds = None if field.value is None else msgspec.json.decode(field.value, type=int)
            return structs.replace(spec, min_ready_seconds=seconds)
        case "scaleStrategy":
            return structs.replace(spec, scale_strategy=field.value or msgspec.Raw(b"{}"))
        case _:
            raise ValueError(field.name)


def _owners_spec(spec: DeploymentSpec, owners: OwnersValues) -> DeploymentSpec:
    strategy = spec.strategy
    if owners.strategy is not None:
        strategy = msgspec.json.decode(owners.strategy, type=DeploymentStrategy)
    deadline = owners.progress_deadline_seconds
    return structs.replace(
        spec,
        strategy=strategy,
        min_ready_seconds=owners.min_ready_seconds,
        progress_deadline_seconds=600 if deadline is None else deadline,
        paused=owners.paused,
    )
