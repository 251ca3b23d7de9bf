"""The kinds Moonshift talks about, named completely.

Why: looking a kind up by a bare word finds the kind of any API group (another product's `rollouts`, too).
Invariant: a resource is group, version and plural; nothing is ever discovered by name only.
"""

import re

import msgspec


class Resource(msgspec.Struct, frozen=True):
    """One served kind."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    metadata_only: bool = False
    """Objects are requested without spec and status."""

    @property
    def api_version(self) -> str:
        """As in an object's `apiVersion`: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """As kubectl writes it: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
HPAS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")

_WORKLOAD_PLURALS = {
    ("apps", "Deployment"): "deployments",
    ("apps", "StatefulSet"): "statefulsets",
    ("apps", "DaemonSet"): "daemonsets",
    ("apps.kruise.io", "CloneSet"): "clonesets",
    ("apps.kruise.io", "StatefulSet"): "statefulsets",
    ("apps.kruise.io", "DaemonSet"): "daemonsets",
}


_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+")


def is_api_version(text: str) -> bool:
    """Whether `text` is a group and a version, or a version: no other text may get into a URL (`../../api/v1`)."""
    return _API_VERSION.fullmatch(text) is not None


def known_workload(api_version: str, kind: str) -> Resource | None:
    """How a workload of a known kind is addressed; None for any other, which has to be looked up."""
    if not is_api_version(api_version):
        return None
    group, _, version = api_version.rpartition("/")
    plural = _WORKLOAD_PLURALS.get((group, kind))
    return Resource(group, version, plural, kind) if plural is not None else None


JOBS = Resource("batch", "v1", "jobs", "Job")
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CORE_EVENTS = Resource("", "v1", "events", "Event")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")

ROLLOUTS = Resource("rollouts.kruise.io", "v1beta1", "rollouts", "Rollout")
TRAFFIC_ROUTINGS = Resource("rollouts.kruise.io", "v1alpha1", "trafficroutings", "TrafficRouting")
BATCH_RELEASES = Resource("rollouts.kruise.io", "v1beta1", "batchreleases", "BatchRelease")
ROLLOUT_HISTORIES = Resource("rollouts.kruise.io", "v1alpha1", "rollouthistories", "RolloutHistory")

ANALYSIS_TEMPLATES = Resource(
    "rollouts.kruise.io", "v1alpha1", "analysistemplates", "AnalysisTemplate"
)
CLUSTER_ANALYSIS_TEMPLATES = Resource(
    "rollouts.kruise.io",
    "v1alpha1",
    "clusteranalysistemplates",
    "ClusterAnalysisTemplate",
    namespaced=False,
)

NOTIFICATIONS = Resource("rollouts.kruise.io", "v1alpha1", "notifications", "Notification")
CLUSTER_NOTIFICATIONS = Resource(
    "rollouts.kruise.io",
    "v1alpha1",
    "clusternotifications",
    "ClusterNotification",
    namespaced=False,
)

CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
CRD_METADATA = msgspec.structs.replace(CRDS, metadata_only=True)
SELF_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
)
TOKEN_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SUBJECT_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
