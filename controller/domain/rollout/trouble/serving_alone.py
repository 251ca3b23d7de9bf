"""Pods of an abandoned revision that serve everybody: no stable pod is ready, and another template came.

Why: a release begins again with the new template, and pods of the revision in between are removed first. Somebody
applied a third template while no stable pod could be scheduled: the only ready pods were deleted, and nobody served
until the third revision was ready. Invariant: the last ready pods of a workload are not removed for another template;
the release stays where it is, so that its own template, put back, is released with these pods. Must not choose
another revision.
"""

from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.routes.empty_sides import all_pods, ready_uids, stable_uids
from controller.domain.rollout.words.release_value import Release

NOBODY_WOULD_SERVE = "nobody would serve: "


def abandoned_pods_serve_alone(release: Release) -> Refusal | None:
    """The reason to remove nothing: no other pod is ready than those of revisions that a new template abandons.

    None if the stable revision is not known: then any of these pods may be its.
    """
    serving = ready_uids(all_pods(release))
    others_serve = bool(stable_uids(release) or ready_uids(release.new_pods))
    if not release.replicas or others_serve or not serving:
        return None
    pods = f"{len(serving)} ready pod{'s' if len(serving) > 1 else ''}"
    text = (
        f"{NOBODY_WOULD_SERVE}the {pods} of the release so far would be removed for the new template. Make stable pods "
        "ready, or put the template of the release so far back (it goes on where it was)"
    )
    return Refusal(reasons.SIDE_WITHOUT_ENDPOINTS, text)
