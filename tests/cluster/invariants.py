"""The rules that hold at every revision of a release, judged from the recorded history of the whole cluster.

The history is one total order (one etcd). The changes are applied one by one to a `View`, and every rule is checked
after each change; at the end, the last state is compared with the owner's objects. Invariant: rules look at
objects and their revisions, as clients of the cluster see them, never at the product's memory or logs. It must do
no I/O.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.api.names import FIELD_MANAGER
from localcluster.api import JsonObject
from localcluster.history import Change, Key, Kind
from tests.cluster.conditions import ConditionsAreTrue, behind
from tests.cluster.crowding import (
    enough_stable_pods_get_all_traffic,
    pods_stay_within_the_surge,
    two_revisions_get_requests_at_most,
)
from tests.cluster.ends import Ends
from tests.cluster.kinds import ADVANCED_DAEMON_SETS, AUTOSCALERS, DEPLOYMENTS, ROLLOUTS, SERVICES
from tests.cluster.manifests import STABLE_IMAGE, Application
from tests.cluster.margins import Margin, PointedAt, Times
from tests.cluster.shares import ShareNeverFalls
from tests.cluster.sides import EmptySides
from tests.cluster.steps_in_status import StepsInOrder, step_in_status
from tests.cluster.truth import StatusIsTrue
from tests.cluster.user_actions import Permission, UserAction
from tests.cluster.view import View, deleting, image_of, ready

REVISION_LABELS = {"pod-template-hash", "controller-revision-hash"}


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that did not hold after a change."""

    revision: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.revision}: {self.rule}: {self.detail}"


Rule = Callable[[Application, View, Permission], str | None]


def weights_are_well_formed(app: Application, view: View, allowed: Permission) -> str | None:
    """Every list of destinations adds up to 100."""
    for destinations in view.routes(app.name):
        weights = [destination.weight for destination in destinations]
        if any(weight < 0 for weight in weights) or sum(weights) != 100:
            return f"weights {weights}"
    return None


def routes_lead_to_ready_pods(app: Application, view: View, allowed: Permission) -> str | None:
    """A destination that gets requests has a Service, its subset, and a ready pod behind them."""
    if not any(d.is_canary(app) and d.weight for d in view.destinations(app.name)):
        allowed.bereft = False
    if allowed.emptied:
        allowed.emptied = allowed.size == 0 or not view.endpoints(app.name)
        return None
    for destination in view.destinations(app.name):
        if allowed.bereft and destination.is_canary(app):
            continue
        if destination.host not in (app.name, app.canary_service) or destination.weight == 0:
            continue
        if view.service(destination.host) is None:
            return f"Service {destination.host} does not exist"
        if destination.subset and view.subset(app.name, destination.subset) is None:
            return f"subset {destination.subset} does not exist"
        if not view.behind(app.name, destination):
            return f"no ready pod behind {destination.host} {destination.subset}".strip()
    return None


def new_pods_find_the_stable_service_pinned(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """With two Services, the stable Service leads to no new pod, from the first new pod until the last approval."""
    if not app.virtual_service or app.shared or allowed.free or allowed.finished:
        return None
    if not app.beside and allowed.whole:
        return None
    stable = view.service(app.name)
    pinned = stable is not None and bool(REVISION_LABELS & stable["spec"]["selector"].keys())
    new = [pod for pod in view.pods(app.name) if image_of(pod) != STABLE_IMAGE]
    if any(map(ready, new)) and not pinned:
        return (
            f"{new[0]['metadata']['name']} is ready, and Service {app.name} selects every revision"
        )
    leaked = [pod for pod in view.endpoints(app.name) if image_of(pod) != STABLE_IMAGE]
    if leaked:
        return f"Service {app.name} leads to {leaked[0]['metadata']['name']}"
    return None


def new_pods_stay_within_the_approved_step(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """No more pods of a revision than the approved step of its release says."""
    if allowed.free:
        return None
    for image, most in allowed.pods.items():
        if allowed.finished and image == allowed.image:
            continue
        alive = [p for p in view.pods(app.name) if image_of(p) == image and not deleting(p)]
        if len(alive) > most:
            return f"{len(alive)} pods of {image}, approved are {most}"
    return None


def traffic_stays_within_the_approved_step(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """The route gives the new revision no more than the approved step says."""
    for destination in view.destinations(app.name):
        if not destination.is_canary(app):
            continue
        for image in {image_of(pod) for pod in view.behind(app.name, destination)}:
            if destination.weight > allowed.traffic(image):
                return f"{destination.weight} % to {image}, approved are {allowed.traffic(image)} %"
    return None


def enough_pods_are_ready(app: Application, view: View, allowed: Permission) -> str | None:
    """Old and new together never fall below what the owner's maxUnavailable (25 %) allows.

    At the beginning of a third revision in partition style, a Deployment may have one pod too few for a moment: its own
    controller changes the same ReplicaSets.
    """
    if app.workload == "Deployment" and not app.beside and allowed.abandoned:
        return None
    count = sum(1 for pod in view.pods(app.name) if ready(pod))
    sets_replace_first = 0 if app.workload == "Deployment" else 1
    least = allowed.least - (allowed.least // 4 or sets_replace_first)
    return f"{count} of {app.replicas} pods are ready" if count < least else None


def the_strategy_is_never_recreate(app: Application, view: View, allowed: Permission) -> str | None:
    """The strategy is never Recreate: after a crash, the workload would delete all its pods at once."""
    workload = view.get(DEPLOYMENTS, app.name)
    kind = workload["spec"].get("strategy", {}).get("type") if workload is not None else ""
    return "the workload's strategy is Recreate" if kind == "Recreate" else None


def there_is_one_extra_deployment_at_most(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """A crash between two writes leads to no second canary Deployment."""
    extra = [d for d in view.extra_deployments(app.name) if not deleting(d)]
    return f"{len(extra)} extra Deployments" if len(extra) > 1 else None


def blue_green_keeps_every_old_pod(app: Application, view: View, allowed: Permission) -> str | None:
    """All old pods stay until the last approval, so a rollback only has to switch the traffic."""
    if not app.blue_green or allowed.free or allowed.finished:
        return None
    old = sum(1 for p in view.pods(app.name) if ready(p) and image_of(p) == STABLE_IMAGE)
    return f"{old} of {allowed.least} old pods are ready" if old < allowed.least else None


def doubled_pods_are_not_autoscaled(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """While old and new pods exist side by side, until the last approval, no autoscaler changes their number."""
    scaler = view.get(AUTOSCALERS, app.name)
    images = {image_of(pod) for pod in view.pods(app.name) if not deleting(pod)}
    if not app.blue_green or scaler is None or len(images) < 2:
        return None
    if allowed.free or allowed.finished or allowed.image == STABLE_IMAGE:
        return None
    behavior = scaler["spec"].get("behavior") or {}
    ways = [behavior.get(way, {}).get("selectPolicy") for way in ("scaleUp", "scaleDown")]
    return None if ways == ["Disabled", "Disabled"] else f"the autoscaler may move: {ways}"


RULES: tuple[Rule, ...] = (
    blue_green_keeps_every_old_pod,
    doubled_pods_are_not_autoscaled,
    weights_are_well_formed,
    routes_lead_to_ready_pods,
    new_pods_find_the_stable_service_pinned,
    new_pods_stay_within_the_approved_step,
    traffic_stays_within_the_approved_step,
    enough_pods_are_ready,
    the_strategy_is_never_recreate,
    there_is_one_extra_deployment_at_most,
    pods_stay_within_the_surge,
    two_revisions_get_requests_at_most,
    enough_stable_pods_get_all_traffic,
)


def judge(
    app: Application,
    before: Iterable[Change],
    history: Sequence[Change],
    actions: Sequence[UserAction],
    times: Times = lambda change: None,
    by_others: Callable[[Change], bool] = lambda change: False,
) -> list[Violation]:
    """All violations after the first action; a rule that stays broken is reported once.

    `by_others`: somebody else than the controller made the change.
    """
    view = View(app.namespace)
    for change in before:
        view.apply(change)
    allowed = Permission(app, actions)
    share, margin, pointed_at = ShareNeverFalls(), Margin(app, times), PointedAt(app, times)
    sides, steps, ends = EmptySides(app, times), StepsInOrder(), Ends(app)
    truth, conditions = StatusIsTrue(app.name, app.workload_kind), ConditionsAreTrue(app.name)
    ends.begin(view)
    found: list[Violation] = []
    broken: set[str] = set()
    for change in history:
        if change.key.namespace != app.namespace:
            continue
        margin.before(change, view)
        pointed_at.before(change, view)
        share.before(change, by_others=by_others(change))
        view.apply(change)
        allowed.advance(change.resource_version)
        empty, untrue = sides.after(change, view), truth.look(view)
        contradicted = conditions.after(change, allowed)
        nowhere, left = ends.after(change, view, allowed)
        if not allowed.released:
            continue
        details = {rule.__name__: rule(app, view, allowed) for rule in RULES}
        details[ShareNeverFalls.__name__] = share.look(app, view, allowed)
        details[Margin.__name__] = margin.after(
            change,
            view,
            scaled_down=allowed.least < app.replicas,
            scaled_to_zero=allowed.size == 0,
        )
        details[PointedAt.__name__] = pointed_at.after(change, view)
        details[EmptySides.__name__] = empty
        details["every_service_leads_somewhere_at_the_end"] = nowhere
        details["no_given_up_pod_is_left"] = left
        details[StatusIsTrue.__name__] = untrue
        details[ConditionsAreTrue.__name__] = contradicted
        details[StepsInOrder.__name__] = steps.look(
            step_in_status(view, app.name),
            allowed.image,
            allowed.step,
            stable=allowed.free or allowed.image == STABLE_IMAGE,
        )
        for rule, detail in details.items():
            if detail is not None and rule not in broken:
                found.append(Violation(change.resource_version, rule, detail))
        broken = {rule for rule, detail in details.items() if detail is not None}
    return found


# --- the end ------------------------------------------------------------------------------------

OTHERS_ANNOTATIONS = (
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "kubectl.kubernetes.io/last-applied-configuration",
)
WORKLOAD_TYPE = "rollouts.kruise.io/workload-type"


def owned(obj: JsonObject) -> JsonObject:
    """The part of an object that belongs to its owner: spec, labels, annotations."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    return {
        "spec": meaning(obj.get("spec")),
        "labels": dict(metadata.get("labels") or {}),
        "annotations": {k: v for k, v in annotations.items() if k not in OTHERS_ANNOTATIONS},
    }


def meaning(value: Any) -> Any:
    """A value without nulls and empty parts, because a typed client omits them and a webhook's defaults may add
    them."""
    if isinstance(value, dict):
        kept = {name: meaning(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if part not in (None, {}, [])}
    return [meaning(part) for part in value] if isinstance(value, list) else value


def without_said_pause(kind: Kind, owners: JsonObject) -> JsonObject:
    """The object without `paused: false`, the default, which an Advanced DaemonSet has from its first release on."""
    strategy = (owners["spec"] or {}).get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if kind != ADVANCED_DAEMON_SETS or rolling.get("paused") is not False:
        return owners
    silent = {name: value for name, value in rolling.items() if name != "paused"}
    strategy = meaning({**strategy, "rollingUpdate": silent})
    return {**owners, "spec": meaning({**owners["spec"], "updateStrategy": strategy})}


def judge_end(
    app: Application, state: Mapping[Key, JsonObject], expected: Mapping[Key, JsonObject]
) -> list[Violation]:
    """The differences that an ended release has left; `expected` are the owner's objects."""
    found: list[Violation] = []
    for key, wanted in expected.items():
        kept = without_said_pause(key.kind, owned(wanted))
        actual = state.get(key)
        if actual is None:
            found.append(Violation(0, "everything_is_restored", f"{key.name} is gone"))
            continue
        now = without_said_pause(key.kind, owned(actual))
        if any(map(_is_of_a_release, actual["metadata"].get("managedFields") or ())):
            detail = f"{key.kind.plural} {key.name} has fields that {FIELD_MANAGER} manages"
            found.append(Violation(0, "everything_is_restored", detail))
        if key.kind == app.workload_kind and _governed(app, state):
            now["labels"].pop(WORKLOAD_TYPE, None)
        if now != kept:
            detail = f"{key.kind.plural} {key.name} is {now}, was {kept}"
            found.append(Violation(0, "everything_is_restored", detail))
    rollout = state.get(Key(ROLLOUTS, app.namespace, app.name))
    if rollout is not None and (late := behind(rollout)) is not None:
        found.append(Violation(0, "the_status_is_about_the_present_generation", late))
    for key, obj in state.items():
        if key.namespace == app.namespace and _left_over(app, key, obj):
            detail = f"{key.kind.plural} {key.name} is left over"
            found.append(Violation(0, "nothing_is_left_over", detail))
    return found


def _is_of_a_release(entry: JsonObject) -> bool:
    """Our field manager owns more than the label that a workload has as long as its Rollout exists."""
    if entry["manager"] != FIELD_MANAGER:
        return False
    fields = entry.get("fieldsV1") or {}
    metadata = fields.get("f:metadata") or {}
    labels = {*(metadata.get("f:labels") or {})} - {".", f"f:{WORKLOAD_TYPE}"}
    return bool({*fields} - {"f:metadata"} or {*metadata} - {"f:labels"} or labels)


def _governed(app: Application, state: Mapping[Key, JsonObject]) -> bool:
    return Key(ROLLOUTS, app.namespace, app.name) in state


def _left_over(app: Application, key: Key, obj: JsonObject) -> bool:
    if key.kind == SERVICES:
        return not app.shared and key.name == app.canary_service
    labels = obj["metadata"].get("labels") or {}
    return (
        key.kind == DEPLOYMENTS and labels.get("rollouts.kruise.io/canary-deployment") == app.name
    )
