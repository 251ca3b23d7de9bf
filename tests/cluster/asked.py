"""The rules about the controller's requests to the API server, checked with the audit log of a release.

Why it exists: a history of objects does not show how they were written. Invariant: every request of the controller in
the namespace of a release is checked, whether it succeeded or not; a rule names the request that broke it. It must do
no I/O.
"""

from collections.abc import Callable, Iterable, Iterator

from controller.api.names import ROLLOUT_UID
from localcluster.audit import AuditRecord, resource_name

MARKS = ("metadata/annotations", "metadata/labels", "metadata/managedFields")
JUDGED_BY = ("metadata/resourceVersion", "metadata/generation", "metadata/uid")
"""Preconditions, which change nothing."""
TIMES = ("spec/minReadySeconds", "spec/progressDeadlineSeconds")
HOLD = ("spec/paused", "spec/strategy", "spec/updateStrategy", "spec/template", *TIMES)
FIELDS: dict[str, tuple[str, ...]] = {
    "deployments.apps": HOLD,
    "statefulsets.apps": HOLD,
    "daemonsets.apps": HOLD,
    "replicasets.apps": ("spec/minReadySeconds", "spec/replicas"),
    "services": ("spec/selector",),
    # the target that the original controller had renamed is restored
    "horizontalpodautoscalers.autoscaling": ("spec/behavior", "spec/scaleTargetRef"),
    "rollouts.rollouts.kruise.io": ("metadata/finalizers",),
    "rollouts.rollouts.kruise.io/status": ("status",),
}
"""The fields that a patch may change, in addition to our marks; all others belong to the owner. Kinds that are not
listed are not checked."""
OF_COPIES = ("spec/replicas",)
"""Fields of Deployments that the controller made itself: the owner's own replicas are never written."""

Rule = Callable[[AuditRecord], str | None]


def no_right_is_missing(asked: AuditRecord) -> str | None:
    """The installed rights are enough."""
    return "it is forbidden" if asked.is_forbidden else None


def whole_objects_carry_the_version_that_was_judged(asked: AuditRecord) -> str | None:
    """A write of a whole object has a resource version."""
    body = asked.request() if asked.verb == "update" else None
    if not isinstance(body, dict) or body.get("metadata", {}).get("resourceVersion"):
        return None
    return "it writes the object without its resource version"


def patches_stay_within_our_fields(asked: AuditRecord) -> str | None:
    """A patch changes the fields that a release needs, and no other field of the owner."""
    allowed = FIELDS.get(resource_name(asked))
    body = asked.request() if asked.verb == "patch" and allowed is not None else None
    if body is None or allowed is None:
        return None
    if asked.resource == "deployments" and _is_ours(asked):
        allowed = (*allowed, *OF_COPIES)
    places = (*allowed, *MARKS, *JUDGED_BY)
    others = [path for path in changed(body) if not any(_within(path, place) for place in places)]
    return f"it writes {', '.join(sorted(others))}" if others else None


def _is_ours(asked: AuditRecord) -> bool:
    """The Deployment was made by the controller: it carries the mark of a Rollout."""
    stored = asked.response()
    metadata = stored.get("metadata", {}) if isinstance(stored, dict) else {}
    return ROLLOUT_UID in (metadata.get("labels") or {})


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def changed(body: object) -> Iterator[str]:
    """The places that a merge patch or a JSON patch names, down to the second level."""
    if isinstance(body, list):
        yield from ("/".join(str(step["path"]).strip("/").split("/")[:2]) for step in body)
    elif isinstance(body, dict):
        for part, inner in body.items():
            if part in ("apiVersion", "kind"):
                continue
            if isinstance(inner, dict) and part in ("metadata", "spec"):
                yield from (f"{part}/{field}" for field in inner)
            else:
                yield part


RULES: tuple[Rule, ...] = (
    no_right_is_missing,
    whole_objects_carry_the_version_that_was_judged,
    patches_stay_within_our_fields,
)


def judge_requests(records: Iterable[AuditRecord]) -> Iterator[tuple[int, str, str]]:
    """Revision, rule and detail of every request that broke a rule."""
    for asked in records:
        for rule in RULES:
            if detail := rule(asked):
                named = f"{asked.verb} {resource_name(asked)} {asked.name}: {detail}"
                yield asked.resource_version or 0, rule.__name__, named
