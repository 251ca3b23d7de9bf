"""How many pods there may be at once, and how many revisions may get requests at once.

Invariant: the limits are known from the owner's manifest and the deeds of people alone. It must do no I/O.
"""

from collections import Counter

from localcluster.api import JsonObject
from tests.cluster.deeds import Permission
from tests.cluster.kinds import REPLICA_SETS
from tests.cluster.manifests import STABLE_IMAGE, Application
from tests.cluster.view import View, deleting, image_of

SURGE_PART = 4
"""A Deployment without `maxSurge` may have a quarter of its replicas more, rounded up."""
MOST_REVISIONS = 2


def pods_stay_within_the_surge(app: Application, view: View, allowed: Permission) -> str | None:
    """Never more pods than replicas, the owner's maxSurge, and what a style puts beside the old ones.

    Partition style has replicas and the surge; before the last approval canary style and blue-green have no surge, but
    the pods of the largest step so far. Only a Deployment has a surge that its owner did not write. One with routes
    gets the old pods that new ones replaced back all at once, when the traffic is to leave the new ones.
    A ReplicaSet that was told to shrink needs a moment for it, and Kubernetes does not wait for that: its surplus pods
    are on their way out.
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
    """Pods that were not told to go, by the name of their ReplicaSet; those of a set are under no name."""
    owners = [
        next((o["name"] for o in pod["metadata"].get("ownerReferences") or () if _is_of(o)), "")
        for pod in view.pods(app.name)
        if not deleting(pod)
    ]
    return Counter(owners)


def _is_of(owner: JsonObject) -> bool:
    return bool(owner["kind"] == "ReplicaSet")


def _stay(view: View, owner: str, alive: int) -> int:
    """How many of these pods their ReplicaSet asks for; none if it is gone, and they follow it."""
    if not owner:
        return alive
    found = view.get(REPLICA_SETS, owner)
    return min(alive, found["spec"]["replicas"]) if found is not None else 0


def two_revisions_get_requests_at_most(
    app: Application, view: View, allowed: Permission
) -> str | None:
    """A third revision gets requests only after one of the two before it gets none any more.

    But where there are no routes to a set of pods: its Service leads to every pod, and one pod follows the other.
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
