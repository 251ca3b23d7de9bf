"""The most pods that may exist at once, and the most revisions that may get requests at once.

Invariant: the limits follow from the owner's manifest and the actions of people alone. It must do no I/O.
"""

from collections import Counter

from localcluster.api import JsonObject
from tests.cluster.kinds import REPLICA_SETS
from tests.cluster.manifests import STABLE_IMAGE, Application
from tests.cluster.user_actions import Permission
from tests.cluster.view import View, deleting, image_of

SURGE_PART = 4
"""A Deployment without `maxSurge` may have a quarter of its replicas more, rounded up."""
MOST_REVISIONS = 2


def pods_stay_within_the_surge(app: Application, view: View, allowed: Permission) -> str | None:
    """Never more pods than the sum of replicas, the owner's maxSurge, and the style's additional pods.

    Partition style has replicas and the surge; before the last approval canary style and blue-green have no surge, but
    the pods of the largest step so far. Only a Deployment has a surge that its owner did not write. A Deployment with
    routes gets all replaced old pods back at once, before the traffic leaves the new pods.
    A ReplicaSet needs a moment to shrink, and Kubernetes does not wait for it: its surplus pods do not count.
    """
    step = max(allowed.pods.values(), default=0)
    most = allowed.largest + (step if app.beside else 0)
    if app.workload == "Deployment" and (not app.beside or allowed.lets_go):
        surge = -(-allowed.largest // SURGE_PART)
        routed = app.virtual_service or app.other_routes
        returns = routed and (allowed.image == STABLE_IMAGE or allowed.abandoned)
        most += max(surge, step) if returns and not app.beside else surge
    found = sum(_stay(view, owner, alive) for owner, alive in _alive(app, view).items())
    return f"{found} pods, {most} at most" if found > most else None


def _alive(app: Application, view: View) -> Counter[str]:
    """Pods that are not being deleted, by the name of their ReplicaSet; pods of a set are listed under an empty
    name."""
    owners = [
        next((o["name"] for o in pod["metadata"].get("ownerReferences") or () if _is_of(o)), "")
        for pod in view.pods(app.name)
        if not deleting(pod)
    ]
    return Counter(owners)


def _is_of(owner: JsonObject) -> bool:
    return bool(owner["kind"] == "ReplicaSet")


def _stay(view: View, owner: str, alive: int) -> int:
    """How many of these pods their ReplicaSet asks for; none if the ReplicaSet is gone, because its pods will be
    deleted, too."""
    if not owner:
        return alive
    found = view.get(REPLICA_SETS, owner)
    return min(alive, found["spec"]["replicas"]) if found is not None else 0


def two_revisions_get_requests_at_most(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """A third revision gets requests only after one of the two others gets none any more.

    This does not hold for a set of pods without routes: its Service selects every pod, and pods are replaced one by
    one.
    """
    if app.workload != "Deployment" and not app.virtual_service:
        return None
    places = [
        place
        for place in view.destinations(app.name)
        if place.weight and place.host in (app.name, app.canary_service)
    ]
    pods = [pod for place in places for pod in view.behind(app.name, place)]
    served = {image_of(pod) for pod in (pods if app.virtual_service else view.endpoints(app.name))}
    return f"{sorted(served)} get requests" if len(served) > MOST_REVISIONS else None


def enough_stable_pods_get_all_traffic(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """After a rollback, or when a third revision comes, all traffic goes to two thirds of the stable pods at least.

    In partition style the others were replaced. This does not hold for DaemonSets: their controllers create no pod of
    an older template.
    """
    returns = allowed.abandoned or allowed.image == STABLE_IMAGE
    if app.beside or not app.virtual_service or "DaemonSet" in app.workload or not returns:
        return None
    places = [place for place in view.destinations(app.name) if place.weight]
    if any(place.is_canary(app) for place in places):
        return None
    there, enough = len(view.endpoints(app.name)), -(-2 * allowed.least // 3)
    return f"{there} ready pods get all traffic, {enough} at least" if there < enough else None
