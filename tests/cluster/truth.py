"""Compares the counts of pods in the status of a Rollout with the real pods.

The status is computed from caches, and caches lag: its counts must have been true at some moment within the last `LAG`
changes of the counted pods. Invariant: counts are judged that a later status repeats, of a release that walks through
its steps; before the first move and at the end the counts are those of the last step. It must do no I/O.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple

from localcluster.api import JsonObject
from localcluster.history import Kind
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.view import View, deleting, ended, ready

LAG = 10
WALKING = {"InRolling", "Initializing", "Paused"}
"""Reasons of the condition Progressing under which the pods of the new revision are counted."""
PAST_PODS = {"StepTrafficRouting", "StepMetricsAnalysis", "StepPaused", "StepReady", "Completed"}
"""States of a step that come after its pods were ready."""
REVISION_LABELS = ("pod-template-hash", "controller-revision-hash")


class PodCounts(NamedTuple):
    """The counts of pods in the status, and the release's step and state."""

    revision: str
    hash: str
    """The revision as the label of its pods says it; empty if it is not known yet."""
    step: int
    state: str
    pods: int
    ready: int


class Moment(NamedTuple):
    """The pods of each revision, with how many of them are ready, and how many the steps want."""

    pods: Mapping[str, int]
    ready: Mapping[str, int]
    wanted: tuple[int, ...]


def pod_counts(rollout: JsonObject | None) -> PodCounts | None:
    """The counts in the status; None if no release is in its steps, or a release is being rolled back."""
    status: JsonObject = (rollout or {}).get("status") or {}
    reasons = {c["type"]: c.get("reason") for c in status.get("conditions") or ()}
    if status.get("phase") != "Progressing" or reasons.get("Progressing") not in WALKING:
        return None
    style = status.get("canaryStatus") or status.get("blueGreenStatus") or {}
    if style.get("finalisingStep"):
        return None
    return PodCounts(
        style.get("canaryRevision") or style.get("updatedRevision") or "",
        style.get("podTemplateHash") or "",
        int(style.get("currentStepIndex") or 0),
        style.get("currentStepState") or "",
        int(style.get("canaryReplicas") or style.get("updatedReplicas") or 0),
        int(style.get("canaryReadyReplicas") or style.get("updatedReadyReplicas") or 0),
    )


def written_by_others(rollout: JsonObject | None) -> bool:
    """Somebody has approved or jumped, and the controller has not answered yet: its own position differs."""
    status: JsonObject = (rollout or {}).get("status") or {}
    style = status.get("canaryStatus") or status.get("blueGreenStatus") or {}
    own = status.get("moonshift") or {}
    parts = (style.get("currentStepIndex"), style.get("currentStepState"))
    return parts != (own.get("step"), own.get("state"))


class StatusIsTrue:
    """The counts in the status were true, and the status leaves a step only after its pods were ready."""

    def __init__(self, name: str, workload: Kind, *, waits: bool = False) -> None:
        """`waits`: a pod that is ready counts after the owner's minReadySeconds only."""
        self._name, self._workload, self._waits = name, workload, waits
        self._moments: deque[Moment] = deque(maxlen=LAG + 1)
        self._shown: PodCounts | None = None
        """The pods of a release that the status showed last."""
        self._now: PodCounts | None = None

    def look(self, view: View) -> str | None:
        """The pods that the status shows and that never existed; None if there are none. Call it after each change."""
        rollout = view.get(ROLLOUTS, self._name)
        moment = self._moment(view, rollout)
        if not self._moments or self._moments[-1] != moment:
            self._moments.append(moment)
        self._now = None if written_by_others(rollout) else pod_counts(rollout)
        if self._now is None or self._now == self._shown:
            return None
        before, shown = self._shown, self._now
        self._shown = shown
        return self._miscounted(shown) or self._too_early(shown, before)

    def at_rest(self) -> str | None:
        """The pods that the status shows and that do not exist now. Call it when nothing changes any more."""
        shown = self._now
        if shown is None or not shown.hash or self._was(shown, self._moments[-1]):
            return None
        now = self._moments[-1]
        found = f"{now.ready.get(shown.hash, 0)}/{now.pods.get(shown.hash, 0)}"
        return (
            f"{shown.ready}/{shown.pods} pods of {shown.hash} are shown at rest, there are {found}"
        )

    def _miscounted(self, shown: PodCounts) -> str | None:
        if not shown.hash:
            return f"{shown.pods} pods of no revision" if shown.pods else None
        if any(self._was(shown, moment) for moment in self._moments):
            return None
        seen = [f"{m.ready.get(shown.hash, 0)}/{m.pods.get(shown.hash, 0)}" for m in self._moments]
        return f"{shown.ready}/{shown.pods} pods of {shown.hash} are shown, there were {seen}"

    def _was(self, shown: PodCounts, moment: Moment) -> bool:
        """The pods of this moment are those of the status, which may count fewer ready pods than there are."""
        found = moment.ready.get(shown.hash, 0)
        counted = shown.ready <= found if self._waits else shown.ready == found
        return counted and shown.pods == moment.pods.get(shown.hash, 0)

    def _too_early(self, shown: PodCounts, before: PodCounts | None) -> str | None:
        """The status leaves a step's pods behind before enough of them are ready. Later losses are not judged here."""
        if shown.state not in PAST_PODS or _same_step(shown, before):
            return None
        planned = [moment for moment in self._moments if len(moment.wanted) >= shown.step]
        if not planned or any(_enough(shown, moment) for moment in planned):
            return None
        found = [f"{m.ready.get(shown.hash, 0)} of {m.wanted[shown.step - 1]}" for m in planned]
        return f"{shown.state} of step {shown.step} is shown, ready were {found}"

    def _moment(self, view: View, rollout: JsonObject | None) -> Moment:
        pods, able = Counter[str](), Counter[str]()
        beside = _is_canary_style(rollout)
        for pod in view.pods(self._name):
            if deleting(pod) or ended(pod) or (beside and _of_workload_itself(pod, self._name)):
                continue
            for name in revisions_of(pod):
                pods[name] += 1
                able[name] += ready(pod)
        return Moment(pods, able, self._wanted(view, rollout))

    def _wanted(self, view: View, rollout: JsonObject | None) -> tuple[int, ...]:
        """How many pods have to be ready at each step, as its owner wrote it."""
        workload = view.get(self._workload, self._name) or {}
        spec, status = workload.get("spec") or {}, workload.get("status") or {}
        size = int(spec.get("replicas", status.get("desiredNumberScheduled", 1)))
        strategy = ((rollout or {}).get("spec") or {}).get("strategy") or {}
        plan = strategy.get("canary") or strategy.get("blueGreen") or {}
        spared = plan.get("failureThreshold", 0)
        found = (min(size, _of(step.get("replicas", 0), size)) for step in plan.get("steps") or ())
        return tuple(most and max(1, most - _of(spared, most)) for most in found)


def revisions_of(pod: JsonObject) -> set[str]:
    """The names of a pod's revision: those of some kinds begin with the name of their set."""
    labels = pod["metadata"].get("labels") or {}
    full = {labels[name] for name in REVISION_LABELS if name in labels}
    return full | {name.rpartition("-")[2] for name in full}


def _is_canary_style(rollout: JsonObject | None) -> bool:
    """An extra Deployment has the release's pods; only its pods are counted."""
    canary = (((rollout or {}).get("spec") or {}).get("strategy") or {}).get("canary") or {}
    return bool(canary.get("enableExtraWorkloadForCanary"))


def _of_workload_itself(pod: JsonObject, name: str) -> bool:
    """The pod belongs to a ReplicaSet of the Deployment `name`, not to one of the extra Deployment.

    The Deployment's own controller may create a pod of the new template when somebody removes our pause unseen.
    """
    meta = pod["metadata"]
    revision = (meta.get("labels") or {}).get("pod-template-hash")
    return any(o["name"] == f"{name}-{revision}" for o in meta.get("ownerReferences") or ())


def _same_step(shown: PodCounts, before: PodCounts | None) -> bool:
    """The step was past its pods already."""
    place = (shown.revision, shown.step)
    same = before is not None and (before.revision, before.step) == place
    return same and before is not None and before.state in PAST_PODS


def _enough(shown: PodCounts, moment: Moment) -> bool:
    return moment.ready.get(shown.hash, 0) >= moment.wanted[shown.step - 1]


def _of(size: int | str, whole: int) -> int:
    """A count, or a percentage rounded up."""
    if isinstance(size, str):
        return -(-int(size.removesuffix("%")) * whole // 100)
    return size
