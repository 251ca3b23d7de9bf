"""Finds everything that Moonshift would leave behind if it were removed now, with the commands that remove it.

Invariant: pure. A finding with commands is a problem that nothing solves once the controller is removed.
"""

from controller.api import names
from controller.api.jsontree import JsonObject, child, number, text
from controller.cli.handover.finding import Finding, about, kubectl
from controller.cli.handover.inventory import Inventory, finalizers_of

LAST = (
    "kubectl delete mutatingwebhookconfiguration kruise-rollout-mutating-webhook-configuration",
    "kubectl delete validatingwebhookconfiguration kruise-rollout-validating-webhook-configuration",
    "kubectl delete validatingadmissionpolicybinding moonshift-rollout-status moonshift-records",
    "kubectl delete --ignore-not-found -k .      # the folder of your kustomization; or helm uninstall",
    "kubectl delete -f deploy/crds      # with every Rollout, TrafficRouting and record",
)
"""The order, when nothing is left to do: webhooks first, because requests that they select fail without a controller.
"""
_PROGRESSING = "progressing.rollouts.kruise.io/"


def before_leaving(seen: Inventory, program: str) -> tuple[Finding, ...]:
    """Rollouts first: when they have ended or gone, the controller has put everything else right itself."""
    return (
        *(_rollout(rollout, program) for rollout in seen.rollouts),
        *(_traffic_routing(routing) for routing in seen.traffic_routings if finalizers_of(routing)),
        *(found for workload in seen.workloads if (found := _workload(workload))),
        *(found for service in seen.services if (found := _service(service))),
        *(found for route in seen.routes if (found := _route(route))),
        *(found for scaler in seen.autoscalers if (found := _autoscaler(scaler))),
    )


def _rollout(rollout: JsonObject, program: str) -> Finding:
    name, namespace = text(rollout, "metadata", "name"), text(rollout, "metadata", "namespace")
    ours = child(rollout, "status", "moonshift")
    if ours.get("release"):
        step = number(ours, "step") or 0
        says = f"a release is under way, at step {step}: let it end, or roll it back"
        return about(
            rollout,
            says,
            f"{program} -n {namespace} undo {name}      # or: promote {name} --full",
            kubectl(rollout, "delete"),
        )
    if names.ROLLOUT_FINALIZER in finalizers_of(rollout):
        says = "has the finalizer that only the controller removes: delete it while the controller runs"
        return about(rollout, says, kubectl(rollout, "delete"))
    return about(rollout, "nothing holds it")


def _traffic_routing(routing: JsonObject) -> Finding:
    using = [name for name in finalizers_of(routing) if name.startswith(_PROGRESSING)]
    says = "has a finalizer that only the controller removes: delete it while the controller runs"
    if using:
        says = f"its routes are shared by {len(using)} releases under way: end those first"
    return about(routing, says, kubectl(routing, "delete"))


def _workload(workload: JsonObject) -> Finding | None:
    meta = child(workload, "metadata")
    if names.ROLLOUT_UID in child(meta, "labels"):
        return about(workload, "was created for a release, and is deleted with it")
    if {*names.OURS_ON_WORKLOAD} & {*child(meta, "annotations")}:
        says = "is held: its owner's values are in an annotation, and nothing else restores them"
        return about(workload, says, *_by_its_rollout(workload))
    if names.WORKLOAD_TYPE in child(meta, "labels"):
        return about(workload, "has a label that has no effect without the webhooks")
    return None


def _by_its_rollout(obj: JsonObject) -> tuple[str, ...]:
    namespace = text(obj, "metadata", "namespace")
    return (f"kubectl -n {namespace} get rollouts      # end the release that holds it, see above",)


def _service(service: JsonObject) -> Finding | None:
    meta = child(service, "metadata")
    if names.PINNED in child(meta, "labels"):
        says = "is pinned to one revision: requests fail when its pods are replaced"
        return about(service, says, *_by_its_rollout(service))
    if names.ROLLOUT_UID in child(meta, "annotations"):
        return about(service, "was created for a release, and is deleted with it")
    return None


def _route(route: JsonObject) -> Finding | None:
    meta = child(route, "metadata")
    if {names.ROUTE_STATE, names.ORIGINAL_SPEC} & {*child(meta, "annotations")}:
        says = "follows a step: its original is in an annotation, and nothing else restores it"
        return about(route, says, *_by_its_rollout(route))
    if names.COMPANION in child(meta, "annotations"):
        return about(route, "was created for a release, and is deleted with it")
    return None


def _autoscaler(scaler: JsonObject) -> Finding | None:
    if names.ORIGINAL_BEHAVIOR not in child(scaler, "metadata", "annotations"):
        return None
    says = "is held by a blue-green release, and only Moonshift lets it scale again"
    return about(scaler, says, *_by_its_rollout(scaler))
