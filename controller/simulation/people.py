"""Actions of owners and clients on the simulated cluster; they pass admission as in a real one.

Must not be used for the controller's own writes, which admission does not check.
"""

from collections.abc import Callable

import msgspec
from msgspec import structs

from controller.api.meta import Key, ObjectMeta
from controller.api.names import LAST_APPLIED
from controller.api.networking import Service
from controller.api.podsets import PodSet, PodSetSpec
from controller.api.rollout import (
    APPROVALS_KEPT,
    Approval,
    CanaryStatus,
    MoonshiftStatus,
    Rollout,
    RolloutSpec,
    Step,
    StepState,
)
from controller.api.workload_kinds import WorkloadKind, is_selected
from controller.api.workloads import (
    ContainerStatus,
    Deployment,
    DeploymentSpec,
    PodStatus,
    StatusCondition,
)
from controller.domain.admission.podset import admit_set
from controller.domain.admission.service import admit_service
from controller.domain.admission.verdict import Amended, Refused, Unchanged
from controller.domain.admission.workload import admit_deployment, governing
from controller.domain.decision import Refusal
from controller.errors import Forbidden
from controller.kube.resources import DEPLOYMENTS, SERVICES
from controller.reconcilers.caches import kept_of
from controller.simulation.podsets import kind_of
from controller.simulation.state import ClusterState, resource_of_kind


def _unasked(old: Deployment | PodSet, new: Deployment | PodSet) -> bool:
    """Admission selects by the label of the stored object and of the new one."""
    kind = WorkloadKind.DEPLOYMENT if isinstance(old, Deployment) else kind_of(old)
    return not any(is_selected(kind, obj.metadata.labels) for obj in (old, new))


def _bare(old: ObjectMeta) -> ObjectMeta:
    """The metadata that remains after applying a manifest with nothing but the name."""
    return structs.replace(old, labels={}, annotations={})


def _applied(meta: ObjectMeta) -> dict[str, str]:
    """The annotation of `kubectl apply`, which `kubectl rollout undo` keeps."""
    return {name: text for name, text in meta.annotations.items() if name == LAST_APPLIED}


class People:
    """The actions of people."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.turned: Callable[[], None] = lambda: None
        """Called when something is refused, or is not refused any more."""
        self.unheard = False
        """No webhook answers, and writes of people are stored nevertheless."""

    # --- the workload ---------------------------------------------------------------------------

    def edit(self, key: Key, **changes: object) -> None:
        """Apply a change of a Deployment's spec; Forbidden when admission says no."""
        old = self._cluster.deployments[key]
        spec: DeploymentSpec = structs.replace(old.spec, **changes)
        self._admitted(old, structs.replace(old, spec=spec))

    def undo(self, key: Key, template: msgspec.Raw) -> None:
        """`kubectl rollout undo`: an old template, and all annotations replaced but the one of `kubectl apply`."""
        old = self._cluster.deployments[key]
        spec = structs.replace(old.spec, template=template)
        meta = structs.replace(old.metadata, annotations=_applied(old.metadata))
        self._admitted(old, structs.replace(old, spec=spec, metadata=meta))

    def replace(
        self, key: Key, spec: DeploymentSpec, annotations: dict[str, str] | None = None
    ) -> None:
        """`kubectl replace`: the owner's bare manifest; every label and annotation that it lacks is gone."""
        old = self._cluster.deployments[key]
        meta = structs.replace(_bare(old.metadata), annotations=annotations or {})
        self._admitted(old, structs.replace(old, spec=spec, metadata=meta))

    def replace_set(self, key: Key, spec: PodSetSpec) -> None:
        """`kubectl replace` of a set of pods: every label and annotation that the manifest lacks is gone."""
        old = self._cluster.pod_sets[key]
        self._admitted_set(old, structs.replace(old, spec=spec, metadata=_bare(old.metadata)))

    def edit_set(self, key: Key, **changes: object) -> None:
        """Apply a change of the spec of a set of pods."""
        old = self._cluster.pod_sets[key]
        spec: PodSetSpec = structs.replace(old.spec, **changes)
        self._admitted_set(old, structs.replace(old, spec=spec))

    def annotate(self, key: Key, annotations: dict[str, str]) -> None:
        """Replace the annotations of a Deployment."""
        old = self._cluster.deployments[key]
        meta = structs.replace(old.metadata, annotations=annotations)
        self._admitted(old, structs.replace(old, metadata=meta))

    def annotate_set(self, key: Key, annotations: dict[str, str]) -> None:
        """Replace the annotations of a set of pods."""
        old = self._cluster.pod_sets[key]
        meta = structs.replace(old.metadata, annotations=annotations)
        self._admitted_set(old, structs.replace(old, metadata=meta))

    def label_set(
        self, key: Key, labels: dict[str, str], annotations: dict[str, str] | None = None
    ) -> None:
        """Replace the labels of a set of pods, and its annotations where some are given."""
        old = self._cluster.pod_sets[key]
        kept = old.metadata.annotations if annotations is None else annotations
        meta = structs.replace(old.metadata, labels=labels, annotations=kept)
        self._admitted_set(old, structs.replace(old, metadata=meta))

    def _admitted_set(self, old: PodSet, new: PodSet) -> None:
        sets = self._cluster.pod_sets
        if self.unheard or _unasked(old, new):
            sets.put(new)
            return
        before, after = sets.raw(old.metadata.key), sets.written(new)
        rollout = governing(after, tuple(self._cluster.rollouts), before)
        match admit_set(before, after, rollout, kind_of(new), self._kept(rollout, old.metadata)):
            case Amended(obj=obj):
                sets.store(obj, resource_of_kind(new.api_version, new.kind))
            case Unchanged():
                sets.put(new)
            case Refused(message=message):
                raise Forbidden(message, status=403)

    def label(self, key: Key, labels: dict[str, str]) -> None:
        """Replace the labels of a Deployment."""
        old = self._cluster.deployments[key]
        meta = structs.replace(old.metadata, labels=labels)
        self._admitted(old, structs.replace(old, metadata=meta))

    def _admitted(self, old: Deployment, new: Deployment) -> None:
        deployments = self._cluster.deployments
        if self.unheard or _unasked(old, new):
            deployments.put(new)
            return
        before, after = deployments.raw(old.metadata.key), deployments.written(new)
        rollout = governing(after, tuple(self._cluster.rollouts), before)
        sets = self._cluster.replica_sets_of(old)
        match admit_deployment(before, after, rollout, sets, self._kept(rollout, old.metadata)):
            case Unchanged():
                deployments.put(new)
            case Amended(obj=obj):
                deployments.store(obj, DEPLOYMENTS)
            case Refused(message=message):
                raise Forbidden(message, status=403)

    def _kept(self, rollout: Rollout | None, workload: ObjectMeta) -> str:
        """The owner's own values as the release keeps them."""
        if rollout is None:
            return ""
        found = kept_of(self._cluster.caches, rollout.metadata)
        known = [k.facts.owners for k in found if k.facts.workload_uid == workload.uid]
        return known[-1] if known else ""

    # --- Services -------------------------------------------------------------------------------

    def apply_service(self, service: Service) -> None:
        """Apply the owner's manifest of a Service, also over a pin; creates a missing Service."""
        old = self._cluster.services.get(service.metadata.key)
        if old is None:
            self._cluster.services.put(service)
            return
        kept = structs.replace(
            old.metadata,
            labels=service.metadata.labels,
            annotations=service.metadata.annotations,
        )
        new = structs.replace(old, metadata=kept, spec=service.spec)
        services = self._cluster.services
        verdict = (
            Unchanged()
            if self.unheard
            else admit_service(
                services.raw(old.metadata.key),
                services.written(new),
                tuple(self._cluster.rollouts),
            )
        )
        if isinstance(verdict, Amended):
            services.store(verdict.obj, SERVICES)
        else:
            services.put(new)

    # --- pods -----------------------------------------------------------------------------------

    def fail_pods(self, uids: frozenset[str], waiting: ContainerStatus | None = None) -> None:
        """These pods become unready and stay unready; their containers give a reason if there is one."""
        self._cluster.broken |= uids
        if waiting is not None:
            self._cluster.waiting |= dict.fromkeys(uids, waiting)

    def forbid(self, action: str, refusal: Refusal) -> None:
        """The API server refuses this action's request from now on."""
        self._cluster.refusals[action] = refusal
        self.turned()

    def forbid_pods(self, why: str, quota: int = 0) -> None:
        """No pod can be created any more, or none beyond a quota."""
        self._cluster.unmakeable, self._cluster.quota = why, quota

    def grant(self, action: str) -> None:
        """The API server no longer refuses this action's request."""
        self._cluster.refusals.pop(action, None)
        self.turned()

    def heal(self) -> None:
        """Everything that was broken works again, and nothing is refused any more."""
        self._cluster.broken.clear()
        self._cluster.refusals.clear()
        self._cluster.waiting.clear()
        self._cluster.unmakeable = ""
        self.turned()

    def delete_pod(self, key: Key) -> None:
        """A pod is evicted through the API, which deletes it."""
        self._cluster.pods.delete(key)

    def end_pod(self, key: Key) -> None:
        """The kubelet evicts a pod, because its node lacks memory: the object stays."""
        pod = self._cluster.pods[key]
        ready = StatusCondition("Ready", "False", "PodFailed", "", self._cluster.now)
        status = PodStatus("Failed", "Evicted", "The node was low on resource: memory.", (ready,))
        self._cluster.pods.put(structs.replace(pod, status=status))

    def orphan_pod(self, key: Key) -> None:
        """Remove the labels of a pod: no Service selects it, and its owner creates another."""
        pod = self._cluster.pods[key]
        meta = structs.replace(pod.metadata, labels={}, owner_references=())
        self._cluster.pods.put(structs.replace(pod, metadata=meta))
        self._cluster.pods.delete(key)

    # --- the Rollout ----------------------------------------------------------------------------

    def change(self, key: Key, edit: Callable[[RolloutSpec], RolloutSpec]) -> None:
        """Change a Rollout's spec."""
        rollout = self._cluster.rollouts[key]
        self._cluster.rollouts.put(structs.replace(rollout, spec=edit(rollout.spec)))

    def pause(self, key: Key, paused: bool = True) -> None:
        """Set `spec.strategy.paused`."""
        self.change(key, lambda spec: _with_paused(spec, paused))

    def disable(self, key: Key, disabled: bool = True) -> None:
        """Set `spec.disabled`."""
        self.change(key, lambda spec: structs.replace(spec, disabled=disabled))

    def replan(self, key: Key, steps: tuple[Step, ...]) -> None:
        """Apply the Rollout with other steps."""
        self.change(key, lambda spec: _with_steps(spec, steps))

    def approve(self, key: Key, signed: bool = True) -> None:
        """As `kubectl kruise rollout approve`: write StepReady into the mailbox; not `signed` if no webhook answers."""
        rollout = self._recorded(key) if signed else self._cluster.rollouts[key]
        inner = rollout.status.of_release
        if inner is not None:
            ready = structs.replace(inner, current_step_state=StepState.STEP_READY)
            self._put_release(rollout, ready)

    def approve_step(self, key: Key, step: int) -> None:
        """As `moonshift approve --step`."""
        rollout = self._recorded(key, step)
        ours = rollout.status.moonshift
        if isinstance(ours, MoonshiftStatus):
            exact = structs.replace(ours, approval=Approval(step=step, by="ann"))
            self._put_status(rollout, moonshift=exact)

    def ask_for_step(self, key: Key, step: int) -> None:
        """A jump by the original's mailbox: `nextStepIndex`."""
        rollout = self._recorded(key, to=step)
        inner = rollout.status.of_release
        if inner is not None:
            asked = structs.replace(inner, next_step_index=step)
            self._put_release(rollout, asked)

    def move_index(self, key: Key, step: int) -> None:
        """Write another `currentStepIndex`, which asks for nothing."""
        rollout = self._cluster.rollouts[key]
        inner = rollout.status.of_release
        if inner is not None:
            self._put_release(rollout, structs.replace(inner, current_step_index=step))

    def jump(self, key: Key, step: int, signed: bool = True) -> None:
        """As `moonshift jump`; not `signed` if no webhook answers."""
        rollout = self._recorded(key, to=step) if signed else self._cluster.rollouts[key]
        ours = rollout.status.moonshift
        if isinstance(ours, MoonshiftStatus):
            self._put_status(rollout, moonshift=structs.replace(ours, jump=step))

    def _recorded(self, key: Key, step: int = 0, to: int = 0) -> Rollout:
        """The Rollout with the entry that admission adds to the record of approvals."""
        rollout = self._cluster.rollouts[key]
        ours = rollout.status.moonshift
        if not isinstance(ours, MoonshiftStatus):
            return rollout
        entry = Approval(step=step or ours.step, by="ann", at=self._cluster.now, to=max(0, to))
        kept = structs.replace(ours, approvals=(*ours.approvals, entry)[-APPROVALS_KEPT:])
        return structs.replace(rollout, status=structs.replace(rollout.status, moonshift=kept))

    def _put_release(self, rollout: Rollout, inner: CanaryStatus) -> None:
        status = rollout.status.with_release(inner)
        self._cluster.rollouts.put(structs.replace(rollout, status=status))

    def _put_status(self, rollout: Rollout, **changes: object) -> None:
        status = structs.replace(rollout.status, **changes)
        self._cluster.rollouts.put(structs.replace(rollout, status=status))


def _with_paused(spec: RolloutSpec, paused: bool) -> RolloutSpec:
    return structs.replace(spec, strategy=structs.replace(spec.strategy, paused=paused))


def _with_steps(spec: RolloutSpec, steps: tuple[Step, ...]) -> RolloutSpec:
    old = spec.strategy
    if old.blue_green is not None:
        plan = structs.replace(old.blue_green, steps=steps)
        return structs.replace(spec, strategy=structs.replace(old, blue_green=plan))
    assert old.canary is not None
    strategy = structs.replace(old, canary=structs.replace(old.canary, steps=steps))
    return structs.replace(spec, strategy=strategy)
