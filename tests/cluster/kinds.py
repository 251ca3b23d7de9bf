"""The resources that cluster tests record, write and judge, and the paths they are found under."""

from localcluster.history import Key, Kind

ROLLOUTS = Kind("rollouts.kruise.io", "v1beta1", "rollouts")
ROLLOUTS_V1ALPHA1 = Kind("rollouts.kruise.io", "v1alpha1", "rollouts")
DEPLOYMENTS = Kind("apps", "v1", "deployments")
STATEFUL_SETS = Kind("apps", "v1", "statefulsets")
DAEMON_SETS = Kind("apps", "v1", "daemonsets")
CLONE_SETS = Kind("apps.kruise.io", "v1alpha1", "clonesets")
ADVANCED_STATEFUL_SETS = Kind("apps.kruise.io", "v1beta1", "statefulsets")
ADVANCED_DAEMON_SETS = Kind("apps.kruise.io", "v1alpha1", "daemonsets")
AUTOSCALERS = Kind("autoscaling", "v2", "horizontalpodautoscalers")
REPLICA_SETS = Kind("apps", "v1", "replicasets")
PODS = Kind("", "v1", "pods")
SERVICES = Kind("", "v1", "services")
SLICES = Kind("discovery.k8s.io", "v1", "endpointslices")
EVENTS = Kind("", "v1", "events")
TRAFFIC_ROUTINGS = Kind("rollouts.kruise.io", "v1alpha1", "trafficroutings")
CONFIG_MAPS = Kind("", "v1", "configmaps")
VIRTUAL_SERVICES = Kind("networking.istio.io", "v1", "virtualservices")
DESTINATION_RULES = Kind("networking.istio.io", "v1", "destinationrules")

WORKLOADS = {
    "Deployment": DEPLOYMENTS,
    "StatefulSet": STATEFUL_SETS,
    "DaemonSet": DAEMON_SETS,
    "CloneSet": CLONE_SETS,
    "Advanced StatefulSet": ADVANCED_STATEFUL_SETS,
    "Advanced DaemonSet": ADVANCED_DAEMON_SETS,
}
"""Kinds of workloads by a name for people; the last three are OpenKruise's."""

RECORDED = (
    ROLLOUTS,
    TRAFFIC_ROUTINGS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    AUTOSCALERS,
    REPLICA_SETS,
    PODS,
    SERVICES,
    SLICES,
    VIRTUAL_SERVICES,
    DESTINATION_RULES,
    EVENTS,
)

RECORDED_OF_KRUISE = (CLONE_SETS, ADVANCED_STATEFUL_SETS, ADVANCED_DAEMON_SETS)


def collection(kind: Kind, namespace: str) -> str:
    """The path of a kind's objects in a namespace."""
    root = f"/apis/{kind.group}" if kind.group else "/api"
    return f"{root}/{kind.version}/namespaces/{namespace}/{kind.plural}"


def path_of(key: Key) -> str:
    """The path of one object."""
    return f"{collection(key.kind, key.namespace)}/{key.name}"
