"""What owners and clients do to the simulated cluster, through admission as in a real one.

Must not be used by anything that stands for the controller: its writes pass admission unseen.
"""

from collections.abc import Callable

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject, child
from controller.api.meta import Key, ObjectMeta
from controller.api.names import WORKLOAD_TYPE
from controller.api.podsets import PodSet, PodSetSpec
from controller.api.rollout import (
    Approval,
    CanaryStatus,
    MoonshiftStatus,
    Rollout,
    RolloutSpec,
    Step,
    StepState,
)
from controller.api.workload_kinds import DEPLOYMENT
from controller.api.workloads import ContainerStatus, Deployment, DeploymentSpec
from controller.domain.admission.podset import admit_set
from controller.domain.admission.verdict import Amended, Refused, Unchanged
from controller.domain.admission.workload import admit_deployment, governing
from controller.domain.decision import Refusal
from controller.errors import Forbidden
from controller.simulation.cluster import Cluster
from controller.simulation.pods import terminate
from controller.simulation.podsets import kind_of


def _unasked(old: Deployment | PodSet, new: Deployment | PodSet) -> bool:
    """Admission selects by the label, on what there is and on what is asked for."""
    return WORKLOAD_TYPE not in {**old.metadata.labels, **new.metadata.labels}


def _bare(old: ObjectMeta) -> ObjectMeta:
    """What a manifest that names nothing but the object leaves of its metadata."""
    return structs.replace(old, labels={}, annotations={})


def raw_of(workload: Deployment | PodSet) -> JsonObject:
    """A workload as admission is given it: no nulls."""
    tree = msgspec.json.decode(msgspec.json.encode(workload))
    without_nulls = {key: value for key, value in tree["spec"].items() if value is not None}
    named = {"apiVersion": DEPLOYMENT.api_version, "kind": DEPLOYMENT.kind}
    return {**named, **child(tree), "spec": without_nulls}


class People:
    """Hands that change things."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.unheard = False
        """No webhook answers, and what people write is stored all the same."""

    # --- the workload ---------------------------------------------------------------------------

    def edit(self, key: Key, **changes: object) -> None:
        """Apply a change of a Deployment's spec; Forbidden when admission says no."""
        old = self._cluster.deployments[key]
        spec: DeploymentSpec = structs.replace(old.spec, **changes)
        self._admitted(old, structs.replace(old, spec=spec))

    def undo(self, key: Key, template: msgspec.Raw) -> None:
        """`kubectl rollout undo`: an old template, and all annotations replaced."""
        old = self._cluster.deployments[key]
        spec = structs.replace(old.spec, template=template)
        meta = structs.replace(old.metadata, annotations={})
        self._admitted(old, structs.replace(old, spec=spec, metadata=meta))

    def replace(self, key: Key, spec: DeploymentSpec) -> None:
        """`kubectl replace`: the owner's bare manifest; every label and annotation that it lacks is gone."""
        old = self._cluster.deployments[key]
        self._admitted(old, structs.replace(old, spec=spec, metadata=_bare(old.metadata)))

    def replace_set(self, key: Key, spec: PodSetSpec) -> None:
        """The same for a set of pods."""
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

    def label_set(self, key: Key, labels: dict[str, str]) -> None:
        """Replace the labels of a set of pods."""
        old = self._cluster.pod_sets[key]
        meta = structs.replace(old.metadata, labels=labels)
        self._admitted_set(old, structs.replace(old, metadata=meta))

    def _admitted_set(self, old: PodSet, new: PodSet) -> None:
        if self.unheard or _unasked(old, new):
            self._cluster.pod_sets.put(new)
            return
        rollout = governing(raw_of(new), tuple(self._cluster.rollouts))
        verdict = admit_set(raw_of(old), raw_of(new), rollout, kind_of(new))
        match verdict:
            case Amended(obj=obj):
                self._cluster.pod_sets.put(
                    msgspec.json.decode(msgspec.json.encode(obj), type=PodSet)
                )
            case _:
                self._cluster.pod_sets.put(new)

    def label(self, key: Key, labels: dict[str, str]) -> None:
        """Replace the labels of a Deployment."""
        old = self._cluster.deployments[key]
        meta = structs.replace(old.metadata, labels=labels)
        self._admitted(old, structs.replace(old, metadata=meta))

    def _admitted(self, old: Deployment, new: Deployment) -> None:
        if self.unheard or _unasked(old, new):
            self._cluster.deployments.put(new)
            return
        rollout = governing(raw_of(new), tuple(self._cluster.rollouts))
        verdict = admit_deployment(
            raw_of(old), raw_of(new), rollout, self._cluster.replica_sets_of(old)
        )
        match verdict:
            case Unchanged():
                self._cluster.deployments.put(new)
            case Amended(obj=obj):
                self._cluster.deployments.put(
                    msgspec.json.decode(msgspec.json.encode(obj), type=Deployment)
                )
            case Refused(message=message):
                raise Forbidden(message, status=403)

    # --- pods -----------------------------------------------------------------------------------

    def fail_pods(self, uids: frozenset[str], waiting: ContainerStatus | None = None) -> None:
        """These pods become unready and stay so; their container says why where it knows."""
        self._cluster.broken |= uids
        if waiting is not None:
            self._cluster.waiting |= dict.fromkeys(uids, waiting)
        self._cluster.versions.next()

    def forbid(self, action: str, refusal: Refusal) -> None:
        """What this action would do is refused from now on."""
        self._cluster.refusals[action] = refusal
        self._cluster.versions.next()

    def forbid_pods(self, why: str) -> None:
        """No pod can be created any more."""
        self._cluster.unmakeable = why
        self._cluster.versions.next()

    def heal(self) -> None:
        """Everything that was broken works again, and nothing is refused any more."""
        self._cluster.broken.clear()
        self._cluster.refusals.clear()
        self._cluster.waiting.clear()
        self._cluster.unmakeable = ""
        self._cluster.versions.next()

    def delete_pod(self, key: Key) -> None:
        """A pod is evicted."""
        terminate(self._cluster, self._cluster.pods[key])

    def orphan_pod(self, key: Key) -> None:
        """The labels of a pod are taken off: no Service selects it, and its owner makes another."""
        pod = self._cluster.pods[key]
        meta = structs.replace(pod.metadata, labels={}, owner_references=())
        self._cluster.pods.put(structs.replace(pod, metadata=meta))
        terminate(self._cluster, self._cluster.pods[key])

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

    def approve(self, key: Key) -> None:
        """What `kubectl kruise rollout approve` does: StepReady into the mailbox."""
        rollout = self._cluster.rollouts[key]
        inner = rollout.status.of_release
        if inner is not None:
            ready = structs.replace(inner, current_step_state=StepState.STEP_READY)
            self._put_release(rollout, ready)

    def approve_step(self, key: Key, step: int) -> None:
        """What `moonshift approve --step` does."""
        rollout = self._cluster.rollouts[key]
        ours = rollout.status.moonshift
        if isinstance(ours, MoonshiftStatus):
            exact = structs.replace(ours, approval=Approval(step=step, by="ann"))
            self._put_status(rollout, moonshift=exact)

    def ask_for_step(self, key: Key, step: int) -> None:
        """A jump by the original's mailbox: `nextStepIndex`."""
        rollout = self._cluster.rollouts[key]
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

    def jump(self, key: Key, step: int) -> None:
        """What `moonshift jump` does."""
        rollout = self._cluster.rollouts[key]
        ours = rollout.status.moonshift
        if isinstance(ours, MoonshiftStatus):
            self._put_status(rollout, moonshift=structs.replace(ours, jump=step))

    def _put_release(self, rollout: Rollout, inner: CanaryStatus) -> None:
        status = rollout.status.with_release(inner)
        self._cluster.rollouts.put(structs.replace(rollout, status=status))

    def _put_status(self, rollout: Rollout, **changes: object) -> None:
        status = structs.replace(rollout.status, **changes)
        self._cluster.rollouts.put(structs.replace(rollout, status=status))


def _with_paused(spec: RolloutSpec, paused: bool) -> RolloutSpec:
    return structs.replace(spec, strategy=structs.replace(spec.strategy, paused=paused))


def _with_steps(spec: RolloutSpec, steps: tuple[Step, ...]) -> RolloutSpec:
    canary = spec.strategy.canary
    assert canary is not None
    strategy = structs.replace(spec.strategy, canary=structs.replace(canary, steps=steps))
    return structs.replace(spec, strategy=strategy)
