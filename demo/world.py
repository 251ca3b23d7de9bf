"""The objects of the story as one reader sees them at one moment.

Why it exists: the live view and the judgement of the recorded history ask the same questions. Invariant: everything is
read from objects as the API serves them; the product is not asked. It must do no I/O.
"""

from collections.abc import Mapping

from demo.place import NAMESPACE
from localcluster.api import JsonObject
from localcluster.history import Key, Kind

PODS = Kind("", "v1", "pods")
SERVICES = Kind("", "v1", "services")
DEPLOYMENTS = Kind("apps", "v1", "deployments")
VIRTUAL_SERVICES = Kind("networking.istio.io", "v1beta1", "virtualservices")
DESTINATION_RULES = Kind("networking.istio.io", "v1beta1", "destinationrules")
ROLLOUTS = Kind("rollouts.kruise.io", "v1beta1", "rollouts")
KINDS = (PODS, SERVICES, DEPLOYMENTS, VIRTUAL_SERVICES, DESTINATION_RULES, ROLLOUTS)
"""The recorded kinds."""

State = Mapping[Key, JsonObject]


def find(state: State, kind: Kind, name: str) -> JsonObject:
    """The object of that name; an empty one if there is none."""
    return state.get(Key(kind, NAMESPACE, name), {})


def pods(state: State) -> tuple[JsonObject, ...]:
    """The application's pods, oldest first."""
    found = [o for key, o in state.items() if key.kind == PODS and key.namespace == NAMESPACE]
    return tuple(sorted(found, key=lambda p: (p["metadata"]["creationTimestamp"], name_of(p))))


def name_of(body: JsonObject) -> str:
    """An object's name."""
    return str(body["metadata"]["name"])


def labels_of(body: JsonObject) -> dict[str, str]:
    """An object's labels."""
    return dict(body["metadata"].get("labels") or {})


def home_page(pod: JsonObject) -> str:
    """The ConfigMap that a pod shows: this is what the release changes."""
    volumes = pod["spec"].get("volumes") or ()
    return next((v["configMap"]["name"] for v in volumes if "configMap" in v), "")


def is_ready(pod: JsonObject) -> bool:
    """Whether a pod takes requests: ready, and not on its way out."""
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def rollout_phase(rollout: JsonObject) -> str:
    """The phase of a Rollout whose newest spec has been looked at, else nothing."""
    status = rollout.get("status") or {}
    if status.get("observedGeneration") != rollout.get("metadata", {}).get("generation"):
        return ""
    return str(status.get("phase", ""))


def is_paused_in(rollout: JsonObject, step: int) -> bool:
    """Whether the step is done and waits for an approval."""
    canary = (rollout.get("status") or {}).get("canaryStatus") or {}
    here = canary.get("currentStepIndex") == step
    return here and canary.get("currentStepState") == "StepPaused"


def has_succeeded(rollout: JsonObject) -> bool:
    """Whether the release is over and went well."""
    conditions = (rollout.get("status") or {}).get("conditions") or ()
    done = any(c["type"] == "Succeeded" and c["status"] == "True" for c in conditions)
    return done and rollout_phase(rollout) == "Healthy"
