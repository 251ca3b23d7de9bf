"""Pods: which release and batch made them, written as labels that clients select by."""

from controller.api import names
from controller.domain.decision import Done, LabelPod
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import PODS


async def label_pod(writes: Writes, action: LabelPod) -> Done:
    """Label a pod; one that is gone needs no label."""
    batch = str(action.batch)
    labels = {
        names.ROLLOUT_ID: action.rollout_id,
        names.ROLLOUT_BATCH_ID: batch,
        names.ROLLOUT_BATCH_ID_APPS: batch,
    }
    try:
        await writes.merge(PODS, action.pod, {"metadata": {"uid": action.uid, "labels": labels}})
    except NotFound:
        return Done()
    return Done(wrote=True)
