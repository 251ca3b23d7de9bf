"""Pods of an abandoned revision that serve everybody: no stable pod is ready, and another template came.

Why: a release begins again with the new template, and pods of the revision in between are removed first. Somebody
applied a third template while no stable pod could be scheduled: the only ready pods were deleted, and nobody served
until the third revision was ready. Invariant: the last ready pods of a workload are not removed for another template;
the release stays where it is, so that its own template, put back, is released with these pods. Must not choose
another revision.
"""

from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.release_value import Release


def abandoned_pods_serve_alone(release: Release) -> Refusal | None:
    """The reason to remove nothing: no other pod is ready than those of revisions that a new template abandons.

    None if the stable revision is not known: then any of these pods may be its.
    """
    serving, others = _ready_pods(release)
    if not release.ours.stable_revision or not release.replicas or others or not serving:
        return None
    pods = f"{serving} ready pod{'s' if serving > 1 else ''}"
    text = (
        f"nobody would serve: the {pods} of the release so far would be removed for the new template. Make stable "
        "pods ready, or put the template of the release so far back (its pods stay)"
    )
    return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text)


def _ready_pods(release: Release) -> tuple[int, int]:
    """The number of ready pods of abandoned revisions, and that of all others."""
    stable = release.ours.stable_revision
    new = {pod.metadata.uid for pod in release.new_pods}
    beside = [pod for extra in release.seen.canaries for pod in extra.pods]
    serving = others = 0
    for pod in (*release.workload.pods, *beside):
        if pod.ready_since is None or pod.metadata.deleting:
            continue
        stays = pod.metadata.uid in new or (pod not in beside and pod.revision == stable)
        others, serving = others + stays, serving + (not stays)
    return serving, others
