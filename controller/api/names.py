"""Every key, label, annotation, finalizer and name that Moonshift reads or writes, with one sentence each.

Invariant: a name of the original (OpenKruise Rollouts) is used unchanged, because other clients
rely on it; only names that the original lacks are under `moonshift.dev/`.
"""

GROUP = "rollouts.kruise.io"
V1BETA1 = f"{GROUP}/v1beta1"
V1ALPHA1 = f"{GROUP}/v1alpha1"

# --- the Rollout --------------------------------------------------------------------------------

ROLLOUT_FINALIZER = f"{GROUP}/rollout"
"""Finalizer on a Rollout: traffic and workload are restored before the Rollout is deleted."""
PLAN_HASH = f"{GROUP}/hash"
"""Annotation on a Rollout: hash of its plan, in the original's formula."""
ROLLING_STYLE = f"{GROUP}/rolling-style"
"""Annotation on a v1alpha1 Rollout: `canary` (default) or `partition`."""
TRAFFIC_ROUTING = f"{GROUP}/trafficrouting"
"""Annotation on a Rollout: name of a TrafficRouting it shares."""
REQUESTED_ROLLOUT_ID = "moonshift.dev/rollout-id"
"""Annotation on a v1beta1 Rollout: `spec.rolloutID` of v1alpha1; outranked by the workload's own."""
KEPT_V1BETA1 = "moonshift.dev/v1beta1"
"""Annotation on a Rollout read as v1alpha1: fields that only v1beta1 has."""
KEPT_V1ALPHA1 = "moonshift.dev/v1alpha1"
"""Annotation on a Rollout written as v1alpha1: the spelling it was written in."""
NOT_CONVERTED = "moonshift.dev/not-converted"
"""Annotation on a Rollout read as v1alpha1 that could not be converted: why it is shown without its plan."""
ROLLBACK_IN_BATCH = f"{GROUP}/rollback-in-batch"
"""Annotation on a Rollout: `true` rolls back batch by batch."""

TRACK_CONFIG = "moonshift.dev/track-config"
"""Annotation on a Rollout: `true` releases changes of the ConfigMaps and Secrets its pods refer to; on a
ConfigMap `false` leaves it out, on a Secret `true` takes it in."""
SEND_TO = "moonshift.dev/send-to"
"""Annotation on a Secret: gates may use it, and send its values to these hosts (`host[:port]`, separated by commas)."""
KEPT_CONFIG_OF = "moonshift.dev/kept-config-of"
"""Annotation on a copy of a stable ConfigMap or Secret: `Kind/name` of the copied object."""

CONFIG_COPY_INFIX = "-config-"
"""Between a Rollout's name and a hash: the name of such a copy."""

# --- the workload -------------------------------------------------------------------------------

WORKLOAD_TYPE = f"{GROUP}/workload-type"
"""Label on a workload under a Rollout: admission selects by it; removing it frees the workload."""
IN_PROGRESSING = f"{GROUP}/in-progressing"
"""Annotation on a workload: JSON `{"rolloutName": …}`; a release is under control."""
STABLE_REVISION = f"{GROUP}/stable-revision"
"""Label on a Deployment: the pod-template-hash that ran when the release was admitted."""
ORIGINAL_STRATEGY = f"{GROUP}/original-deployment-strategy"
"""Annotation on a held workload: JSON with the owner's own values and the release they belong to."""
EXTRA_STATUS = f"{GROUP}/deployment-extra-status"
"""Annotation on a Deployment in partition style: JSON, how many new pods were ready at its last move."""
ORIGINAL_BEHAVIOR = "moonshift.dev/original-behavior"
"""Annotation on a HorizontalPodAutoscaler that a blue-green release holds: JSON of its owner's `spec.behavior`."""
ROLLOUT_ID = f"{GROUP}/rollout-id"
"""Label on pods (and label or annotation on a workload): identity of the release."""
ROLLOUT_BATCH_ID = f"{GROUP}/rollout-batch-id"
"""Label on pods: 1-based number of the batch that made the pod."""
ROLLOUT_BATCH_ID_APPS = "apps.kruise.io/rollout-batch-id"
"""Label on pods: the same number under the older name that published examples select by."""
NO_NEED_UPDATE = f"{GROUP}/no-need-update"
"""Label on pods: id of the release that goes back in batches to a revision which these pods never left."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation of kubectl on an applied object: JSON of the manifest. Only read."""
ADMISSION_PAUSE = "moonshift.dev/latch"
"""Annotation on a Deployment: release id of the release whose admission paused it; only we clear it."""
SIDE_BY_SIDE = "moonshift.dev/allow-side-by-side"
"""Annotation on a workload of strategy Recreate: `true` lets two versions run at once."""

KEPT_FOR = "moonshift.dev/kept-for"
"""Label on a ControllerRevision of ours, which keeps what a release needs to go back: UID of the workload."""
KEPT_INFIX = "-kept-"
"""Between a workload's name and a hash: the name of such a ControllerRevision."""
REBUILT = "moonshift.dev/rebuilt"
"""Annotation on a ReplicaSet: the stable one, which was deleted during a release and made again."""

CANARY_DEPLOYMENT = f"{GROUP}/canary-deployment"
"""Label on the extra Deployment of canary style: name of the stable one, shortened if a label is too short for it."""
ROLLOUT_UID = "moonshift.dev/rollout-uid"
"""Label on objects made for a Rollout (instead of an ownerReference, which foreground deletion would follow); on the
canary Service an annotation, so that its labels are the stable one's."""
TEMPLATE_HASH = "moonshift.dev/template-hash"
"""Annotation on the extra Deployment: hash of the workload's template it was made from."""

CONFIG_HASH = "moonshift.dev/config-hash"
"""Annotation on a pod template: which content of ConfigMaps and Secrets its revision was released for."""

POD_TEMPLATE_HASH = "pod-template-hash"
"""Label of the Deployment controller on ReplicaSets and pods; a Service is pinned by it."""
REVISION = "deployment.kubernetes.io/revision"
"""Annotation of the Deployment controller on ReplicaSets: the number of the revision."""
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
"""Annotation of the Deployment controller on ReplicaSets: the Deployment's size when it last sized them."""
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
"""Annotation of the Deployment controller on ReplicaSets: that size and the maxSurge of that time."""
CONTROLLER_REVISION_HASH = "controller-revision-hash"
"""Label of StatefulSets and DaemonSets on their pods; a Service is pinned by it."""

# --- metric gates -------------------------------------------------------------------------------

GATE = "moonshift.dev/gate"
"""Label on a Job of a metric gate: name of the Rollout that it measures for."""
MEASUREMENT = "moonshift.dev/measurement"
"""Annotation on such a Job: of which Rollout, gate and metric it is a measurement, and its number."""

# --- traffic ------------------------------------------------------------------------------------

ORIGINAL_SPEC = f"{GROUP}/original-spec-configuration"
"""Annotation on a gateway object: JSON of the original `spec`, `labels`, `annotations`."""
ROUTE_STATE = "moonshift.dev/route"
"""Annotation on a gateway object in use: checksum of the original, release, plan and hash of our content."""
COMPANION = "moonshift.dev/made"
"""Annotation on a companion object: its Rollout, its gateway object, and our content."""
DRIFT = "moonshift.dev/drift"
"""Annotation on a gateway object: `restore` reverts foreign changes, `hold` stops the release at one."""
PINNED = "moonshift.dev/pinned"
"""Label on a Service while its selector is pinned to one revision."""
PIN = "moonshift.dev/pin"
"""Annotation on a pinned Service: JSON `{"label": …, "revision": …}` of the pin."""
CANARY_SUFFIX = "-canary"
"""Suffix of the canary Service's name."""
MAX_SERVICE_NAME = 63
"""A Service's name is a DNS label."""
CONFIGURATION = "kruise-rollout-configuration"
"""Name of the ConfigMap with scripts, in the controller's namespace."""

# --- marks of the original ---------------------------------------------------------------------

CONTROL_INFO = "batchrelease.rollouts.kruise.io/control-info"
"""Annotation of the original on a workload, and on its extra Deployment: JSON, which BatchRelease moves it."""
ORIGINALS_STRATEGY = f"{GROUP}/deployment-strategy"
"""Annotation of the original on a Deployment in partition style: JSON with its owner's rolling update."""
ORIGINALS_CONTROL = f"{GROUP}/controlled-by-advanced-deployment-controller"
"""Label of the original on a Deployment in partition style."""
ORIGINALS_DAEMON_STRATEGY = f"{GROUP}/daemonset-original-update-strategy"
"""Annotation of the original on a DaemonSet: the type of its owner's update strategy."""
ORIGINALS_DAEMON_REVISION = f"{GROUP}/daemonset-revision"
"""Annotation of the original on a DaemonSet: JSON with both revisions."""
ORIGINALS_DAEMON_CONTROL = f"{GROUP}/daemonset-advanced-control"
"""Annotation of the original on a DaemonSet: JSON, how many pods stay old."""
BATCH_RELEASE_FINALIZER = f"{GROUP}/batch-release-finalizer"
"""Finalizer of the original on a BatchRelease."""
ORIGINALS_CANARY_FINALIZER = "finalizer.rollouts.kruise.io/batch-release"
"""Finalizer of the original on the extra Deployment of canary style."""
DISABLED_TARGET = "-DisableByRollout"
"""Suffix that the original puts behind the name of an autoscaler's target under blue-green."""

# --- installation -------------------------------------------------------------------------------

FIELD_MANAGER = "moonshift"
"""Field manager of all our writes."""
MUTATING_CONFIGURATION = "kruise-rollout-mutating-webhook-configuration"
VALIDATING_CONFIGURATION = "kruise-rollout-validating-webhook-configuration"
STATUS_POLICIES = ("moonshift-rollout-status", "moonshift-records")
"""Policies of the API server, and their bindings, that keep people from writing the fields of the controller."""
CONTROLLER_POLICIES = ("moonshift-controller-places", "moonshift-controller-definitions")
"""The same, for limits of the controller's own account."""
DEFAULT_NAMESPACE = "kruise-rollout"
LEASE = "71ddec2c.kruise.io"
"""The Lease of the leader; the Leases of shards have this name and the shard's number."""
WANTED_BY = "moonshift.dev/wanted-by"
"""Annotation of a shard's Lease: the process that asked its holder to hand it over."""
WEBHOOK_SECRET = "kruise-rollout-webhook-certs"
"""Name of the Secret with the authority and the webhooks' serving certificate."""
WEBHOOK_SERVICE = "kruise-rollout-webhook-service"
"""Name of the Service in front of the webhooks."""
WORKER_CERTIFICATES = "moonshift.dev/certificates"
"""Annotation on pods of the script worker: which certificates they have to have; its change makes the kubelet look."""
CONTROLLER_ACCOUNT = "kruise-rollout-controller-manager"
"""ServiceAccount of the controller; admission lets its writes pass."""

OURS_ON_WORKLOAD = (IN_PROGRESSING, ORIGINAL_STRATEGY, ADMISSION_PAUSE)
"""Annotations of ours on a workload during a release; admission takes them from the old object."""

FREEZE_MIN_READY_SECONDS = 2147483646
"""With it a pod never counts as available, so the Deployment controller stops exactly at its rolling update limits."""
FREEZE_PROGRESS_DEADLINE_SECONDS = 2147483647
"""Set together with the freeze: the API requires it to be above minReadySeconds."""
