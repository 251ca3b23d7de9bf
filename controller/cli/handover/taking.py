"""The future of each object when Moonshift replaces the original, and the commands that have to come first.

Invariant: pure; it describes the controller's actions (`domain/rollout/taking_over`). For objects without a Rollout it
gives the commands for a person, because no controller restores them.
"""

import msgspec

from controller.api import names
from controller.api.jsontree import JsonObject, child, items, number, text
from controller.api.workload_kinds import WorkloadKind, workload_kind
from controller.cli.handover.finding import Finding, about, kubectl
from controller.cli.handover.inventory import Inventory, finalizers_of
from controller.domain.admission.taking_over import Taking, taken_over
from controller.domain.pods.marks import hold_on
from controller.domain.pods.originals import ANNOTATIONS, LABELS

IMAGE = "kruise-rollout"
_BUSY = ("Progressing", "Disabling", "Terminating")
FREE = '{"metadata":{"finalizers":null}}'


def before_taking_over(seen: Inventory) -> tuple[Finding, ...]:
    """Controllers of the original first, then Rollouts, then objects without a Rollout."""
    return (
        *(found for workload in seen.workloads if (found := _controller(workload))),
        *(_rollout(seen, rollout) for rollout in seen.rollouts),
        *(_batch_release(seen, one) for one in seen.batch_releases),
        *(found for workload in seen.workloads if (found := _workload(seen, workload))),
        *(found for scaler in seen.autoscalers if (found := _autoscaler(seen, scaler))),
    )


# --- the controller -----------------------------------------------------------------------------


def _controller(workload: JsonObject) -> Finding | None:
    """The original is at work."""
    if text(workload, "kind") != "Deployment" or number(workload, "spec", "replicas") == 0:
        return None
    containers = items(child(workload, "spec", "template", "spec"), "containers")
    if not any(_runs_the_original(workload, container) for container in containers):
        return None
    says = "OpenKruise Rollouts runs: two controllers must not work at once"
    return about(workload, says, kubectl(workload, "scale", "--replicas 0"))


def _runs_the_original(workload: JsonObject, container: object) -> bool:
    image = text(container, "image").rpartition("/")[2]
    words = [*items(container, "command"), *items(container, "args")]
    named = text(workload, "metadata", "name") == names.CONTROLLER_ACCOUNT
    return image.startswith(IMAGE) or (named and "/manager" in words)


# --- Rollouts -----------------------------------------------------------------------------------


def is_in_flight(rollout: JsonObject) -> bool:
    """The original has a release of it under way."""
    if child(rollout, "status", "moonshift").get("release"):
        return False
    return text(rollout, "status", "phase") in _BUSY


def _rollout(seen: Inventory, rollout: JsonObject) -> Finding:
    workload = next((w for w in seen.workloads if seen.rollout_of(w) is rollout), None)
    if child(rollout, "status", "moonshift").get("release"):
        return about(rollout, "Moonshift leads its release already")
    if text(rollout, "spec", "workloadRef", "kind") == "ReplicaSet":
        says = "names a ReplicaSet, which cannot be released: it will be Stalled"
        return about(rollout, says, kubectl(rollout, "edit", "# name its Deployment"))
    if is_in_flight(rollout):
        return about(rollout, _in_flight(rollout, workload))
    if workload is not None and _is_marked(workload, rollout):
        return about(rollout, "a change is held and was not begun: its release begins at step 1")
    if workload is None:
        return about(rollout, "its workload was not found here: nothing changes")
    return about(rollout, "at rest: nothing changes")


def _in_flight(rollout: JsonObject, workload: JsonObject | None) -> str:
    status = child(rollout, "status")
    inner = child(status, "canaryStatus") or child(status, "blueGreenStatus")
    step, state = number(inner, "currentStepIndex") or 0, text(inner, "currentStepState")
    if child(rollout, "metadata").get("deletionTimestamp") is not None:
        return "is being deleted during a release: its workload goes on to its new template"
    if text(status, "phase") == "Disabling" or child(rollout, "spec").get("disabled") is True:
        return "was disabled during a release: its workload goes on to its new template"
    if workload is None:
        return "its workload was deleted during a release: routes and Services are restored"
    match state:
        case "Completed":
            return "its release is at its end, and is ended"
        case "StepReady":
            return f"its release goes on after step {step}, which was approved"
        case _:
            waits = "; the step waits for its approval again" if state == "StepPaused" else ""
            return f"its release goes on at step {step} with its pods and its traffic{waits}"


def _is_marked(workload: JsonObject, rollout: JsonObject) -> bool:
    marked = text(workload, "metadata", "annotations", names.IN_PROGRESSING)
    name = text(rollout, "metadata", "name")
    return f'"{name}"' in marked and not _is_ours(workload)


# --- objects without a Rollout ----------------------------------------------------------------------


def _is_ours(workload: JsonObject) -> bool:
    return hold_on(workload).record is not None


def _batch_release(seen: Inventory, one: JsonObject) -> Finding:
    place = (text(one, "metadata", "namespace"), text(one, "metadata", "name"))
    of_it = (
        rollout
        for rollout in seen.rollouts
        if (text(rollout, "metadata", "namespace"), text(rollout, "metadata", "name")) == place
    )
    if any(is_in_flight(rollout) for rollout in of_it):
        return about(one, "is deleted when the release of its Rollout is taken over")
    commands = [kubectl(one, "delete", "--wait=false")]
    if names.BATCH_RELEASE_FINALIZER in finalizers_of(one):
        commands.append(kubectl(one, "patch", f"--type merge -p '{FREE}'"))
    says = "belongs to no release that is under way: it stays, and nothing removes its finalizer"
    return about(one, says, *commands)


def _workload(seen: Inventory, workload: JsonObject) -> Finding | None:
    meta = child(workload, "metadata")
    if names.ORIGINALS_CANARY_FINALIZER in finalizers_of(workload):
        return _canary(seen, workload)
    marks = {*ANNOTATIONS, *LABELS} - {names.EXTRA_STATUS}
    if not marks & {*child(meta, "annotations"), *child(meta, "labels")} or _is_ours(workload):
        return None
    rollout = seen.rollout_of(workload)
    if rollout is not None and (is_in_flight(rollout) or _is_marked(workload, rollout)):
        return about(
            workload,
            "is held by OpenKruise Rollouts: Moonshift keeps holding it, and no pod changes",
        )
    says = "is held by OpenKruise Rollouts, and no Rollout leads its release: its pods do not change any more"
    return about(workload, says, *_commands_to_release(workload))


def _canary(seen: Inventory, workload: JsonObject) -> Finding:
    stable = text(workload, "metadata", "labels", names.CANARY_DEPLOYMENT)
    beside = {**workload, "metadata": {**child(workload, "metadata"), "name": stable}}
    rollout = seen.rollout_of(beside)
    if rollout is not None and is_in_flight(rollout):
        return about(workload, f"is the extra Deployment of {stable}: it stays in use")
    says = f"is an extra Deployment of {stable} without a release: nothing removes its finalizer"
    freed = kubectl(workload, "patch", f"--type merge -p '{FREE}'")
    return about(workload, says, kubectl(workload, "delete", "--wait=false"), freed)


def _commands_to_release(workload: JsonObject) -> tuple[str, ...]:
    """Restore the owner's values from the place where the original keeps them, and remove its marks."""
    kind = workload_kind(
        text(workload, "apiVersion").partition("/")[0],
        text(workload, "kind"),
        {name: str(value) for name, value in child(workload, "metadata", "labels").items()},
    )
    if kind is None:
        return (kubectl(workload, "edit"),)
    taken = taken_over(workload, kind, Taking("", "none"))
    record = hold_on(taken).record
    assert record is not None
    strategy = record.written_strategy
    spec: JsonObject
    if kind is WorkloadKind.DEPLOYMENT:
        deadline = record.progress_deadline_seconds
        spec = {
            "paused": None,
            "strategy": strategy,
            "minReadySeconds": record.min_ready_seconds or None,
            "progressDeadlineSeconds": None if deadline is msgspec.UNSET else deadline,
        }
    elif kind is WorkloadKind.CLONE_SET:
        spec = {"updateStrategy": {"partition": None, **strategy}}
    else:
        rolling = {"partition": None, **child(strategy, "rollingUpdate")}
        spec = {"updateStrategy": {**strategy, "rollingUpdate": rolling}}
    gone = (*ANNOTATIONS, names.IN_PROGRESSING, names.ORIGINAL_STRATEGY)
    patch = {
        "metadata": {
            "annotations": dict.fromkeys(gone),
            "labels": dict.fromkeys((*LABELS, names.STABLE_REVISION)),
        },
        "spec": spec,
    }
    body = msgspec.json.encode(patch).decode()
    return (kubectl(workload, "patch", f"--type merge -p '{body}'"),)


def _autoscaler(seen: Inventory, scaler: JsonObject) -> Finding | None:
    target = child(scaler, "spec", "scaleTargetRef")
    name = text(target, "name")
    if not name.endswith(names.DISABLED_TARGET):
        return None
    right = name.removesuffix(names.DISABLED_TARGET)
    named: JsonObject = {
        "apiVersion": text(target, "apiVersion"),
        "kind": text(target, "kind"),
        "metadata": {"name": right, "namespace": text(scaler, "metadata", "namespace")},
    }
    rollout = seen.rollout_of(named)
    if (
        rollout is not None
        and is_in_flight(rollout)
        and "blueGreen" in child(rollout, "spec", "strategy")
    ):
        return about(scaler, f"names {right} again, and scales when the release is over")
    patch = msgspec.json.encode({"spec": {"scaleTargetRef": {"name": right}}}).decode()
    says = f"was taken from {right} by OpenKruise Rollouts, and no release attaches it again"
    return about(scaler, says, kubectl(scaler, "patch", f"--type merge -p '{patch}'"))
