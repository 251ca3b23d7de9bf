"""Facts about single pods."""

from controller.api.meta import Key
from controller.domain.decision.value import Value


class DeletePod(Value, frozen=True, tag=True):
    """A pod is gone, so that its set's controller makes another."""

    pod: Key
    uid: str


class LabelPod(Value, frozen=True, tag=True):
    """A pod says which release and batch made it."""

    pod: Key
    uid: str
    rollout_id: str
    batch: int


class MarkPod(Value, frozen=True, tag=True):
    """Label a pod that never left the revision to which a release goes back; an empty id removes the label."""

    pod: Key
    uid: str
    rollout_id: str


class FindCauseOfMissingPods(Value, frozen=True, tag=True):
    """Find out from Events why the pods of this set are not created; `counts` begins the sentence."""

    workload: Key
    uid: str
    counts: str
