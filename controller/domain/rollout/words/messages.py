"""The sentences of `status.message`, with the meaning that clients of the original know."""

from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.words.release_value import Release


def in_step(release: Release, index: int, work: str) -> str:
    """The present step and its present work."""
    return f"Rollout is in step({index}/{len(release.steps)}), and {work}"


UPGRADING = "upgrade workload to new version"
ROUTING = "route traffic to the new version"
NOT_HELD = (
    "the template was changed without a release, and the workload's own controller rolls it: admission was not asked "
    "(the controller was away, or had not labelled the workload yet), or another Rollout was deleted during its "
    "release, or the workload had no replicas, the same rollout-id, or a strategy that its owner carries out by hand"
)
CHANGED_AT_ZERO = (
    "the template was changed while the workload had no replicas: there was nothing to release in steps, and pods "
    "that are made from now on have the new template"
)
STABLE_REBUILT = (
    "the stable ReplicaSet was deleted; it is made again from the template that the release keeps"
)
COPY_DROPPED = (
    "status.moonshift has a copy that is not used, and nothing else in the cluster has it"
)
STABLE_CORRECTED = "the release keeps another stable revision than its status said:"
HELD_AGAIN = (
    "the workload had lost the label, the marks or the hold of its release, and admission was not asked: "
    "it is held again"
)
FREEZE_TAKEN_OFF = (
    "was held without a release, because its marks were lost while admission was not asked: it has its owner's own "
    "values again"
)
FREEZE_TAKEN_OFF_BY_DEFAULT = (
    "was held without a release, because its marks were lost while admission was not asked: the hold is removed. Its "
    "owner's own values of spec.strategy, minReadySeconds and progressDeadlineSeconds are lost, so they are "
    "Kubernetes' defaults now; apply the manifest again if yours differ"
)
CONFIRM = "you need manually confirm to enter the next step"
HEALTHY = "workload deployment is completed"
FINALISING = "Rollout has been completed and some closing work is being done"
COMPLETED = "Rollout progressing has been completed"
CANCELLING = "The workload has been rolled back and the rollout process will be canceled"
CANCELED = "Rollout progressing has been canceled"
RETURNING = "workload has been rollback, and goes back in batches"
CONTINUOUS = "Workload is continuous release"
INITIALIZING = "Rollout is initializing"
DISABLED = "Rollout is disabled"
DISABLING = "Rollout is disabling: traffic goes back to stable, then the workload is released"
TERMINATING = "Rollout is terminating: traffic goes back to stable, then the workload is released"
WORKLOAD_NOT_FOUND = "Workload Not Found"
PAUSED = "Rollout is paused by spec.strategy.paused"
SCALED_AWAY = "workload is scaled to zero replicas, or was: the release starts again at step 1 with the stable revision"
NODES_AWAY = (
    "workload is without nodes, or was: the release starts again at step 1 with the stable revision"
)


def waiting(seconds: int) -> str:
    """A timed pause."""
    return f"wait duration({seconds} seconds) to enter the next step"


HELD_BY_METRICS = "its metrics hold it"


HELD_BY_CHECKS = "its checks hold it"


def checking(waited_for: str) -> str:
    """Checks without a verdict yet."""
    return f"wait for its checks: {waited_for}"


def analysing(waited_for: str) -> str:
    """A gate without a verdict yet."""
    return f"wait for its metrics: {waited_for}"


def status_refused(message: str, kind: str = "Rollout") -> Note:
    """A refused status cannot report its own refusal."""
    text = (
        f"the API server refuses to store the status of this {kind}, so it shows an earlier state, and the release "
        f"waits: {message}"
    )
    return Note(reasons.STATUS_REFUSED, text, Severity.WARNING)
