"""Labels of pods: the release and the batch that created a pod, or that it was never replaced. Clients select by
them.
"""

from controller.api import names
from controller.api.meta import Key
from controller.domain.decision import Done, LabelPod, MarkPod
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import PODS


async def label_pod(writes: Writes, action: LabelPod) -> Done:
    """Label a pod; a pod that is gone needs no label."""
    batch = str(action.batch)
    labels: dict[str, str | None] = {
        names.ROLLOUT_ID: action.rollout_id,
        names.ROLLOUT_BATCH_ID: batch,
        names.ROLLOUT_BATCH_ID_APPS: batch,
    }
    return await _labelled(writes, action.pod, action.uid, labels)


async def mark_pod(writes: Writes, action: MarkPod) -> Done:
    """Mark a pod as never replaced, or remove the mark."""
    labels = {names.NO_NEED_UPDATE: action.rollout_id or None}
    return await _labelled(writes, action.pod, action.uid, labels)


async def _labelled(writes: Writes, pod: Key, uid: str, labels: dict[str, str | None]) -> Done:
    try:
        await writes.merge(PODS, pod, {"metadata": {"uid": uid, "labels": labels}})
    except NotFound:
        return Done()
    return Done(wrote=True)
