"""Warns owners about changes that do not take effect at once.

Why: during a release the freeze decides some fields of a workload, and the owner's own values are recorded for the
end. A change that seems to do nothing is worse than a refused one. Invariant: only changes of this request are
reported, not a manifest that is applied again unchanged; a warning changes nothing.
"""

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child, same, text
from controller.api.names import ORIGINAL_STRATEGY, ROLLOUT_ID, WORKLOAD_TYPE
from controller.domain.admission.availability_freeze import LIMITS
from controller.domain.admission.workload import template_changed, template_hash_of
from controller.domain.pods.marks import hold_on


def overridden(
    old: JsonObject, new: JsonObject, stored: JsonObject, stable_template: str = ""
) -> tuple[str, ...]:
    """Warnings about an update from `old` to `new` that was stored as `stored`.

    `stable_template` is the hash of the template to which the release under way goes back; empty if there is none.
    """
    return (
        *_begins_again(old, new, stable_template),
        *_label_stays(new, stored),
        *_nothing_to_release(old, new, stored),
        *_held_fields(old, new, stored),
        *_waits_for_a_resume(old, new, stored),
    )


def _label_stays(new: JsonObject, stored: JsonObject) -> tuple[str, ...]:
    if WORKLOAD_TYPE in child(new, "metadata", "labels"):
        return ()
    if WORKLOAD_TYPE not in child(stored, "metadata", "labels"):
        return ()
    name = _name(new)
    warning = (
        f"{name} is under a release, so the label {WORKLOAD_TYPE} and the other marks of the release stay: to let it "
        "go now, delete its Rollout or set spec.disabled of the Rollout to true"
    )
    return (warning,)


def _nothing_to_release(old: JsonObject, new: JsonObject, stored: JsonObject) -> tuple[str, ...]:
    begun = _record(old) is None and _record(stored) is not None
    if not begun or text(new, "kind") != "Deployment" or template_changed(old, new):
        return ()
    warning = (
        f"{_name(new)} has another {ROLLOUT_ID} and the same pod template: that is a rollback of a Deployment, which "
        "ends at once; change the template to release it"
    )
    return (warning,)


def _begins_again(old: JsonObject, new: JsonObject, stable_template: str) -> tuple[str, ...]:
    """`kubectl set image` or `rollout restart` in the middle of a release, which is no way back."""
    wanted = template_hash_of(new)
    if not stable_template or wanted == stable_template or not template_changed(old, new):
        return ()
    if _record(old) is None:
        return ()
    warning = (
        f"{_name(new)} is under a release: with another pod template that release is given up, all requests return to "
        "the stable version, and the new template is released from step 1"
    )
    return (warning,)


def _held_fields(old: JsonObject, new: JsonObject, stored: JsonObject) -> tuple[str, ...]:
    before, after = _record(old), _record(stored)
    if before is None or after is None:
        return ()
    kept = [
        f"spec.{name}"
        for name in sorted({*before, *after} - {"release", *LIMITS})
        if not same(before.get(name), after.get(name))
    ]
    name = _name(new)
    warnings = []
    # `spec.paused` is recorded, but it also takes effect at once, or later with a warning of its own.
    if (_as_written(new, stored) or _resumed(old, new)) and "spec.paused" in kept:
        kept.remove("spec.paused")
        if child(new, "spec").get("paused") is True:
            warnings.append(_waits_while_paused(new))
    if kept:
        warnings.append(
            f"{name} is under a release: {', '.join(kept)} as you wrote it is kept for the end, until then it is held"
        )
    if _resumed(old, new) and hold_on(stored).has_admission_token:
        warnings.append(
            f"{name} stays paused until traffic is safe; its Rollout lets it go on by itself"
        )
    return tuple(warnings)


def _waits_for_a_resume(old: JsonObject, new: JsonObject, stored: JsonObject) -> tuple[str, ...]:
    """Another template for a Deployment that its owner had paused."""
    after = _record(stored)
    known = _record(old) or {}
    waits = after is not None and after.get("paused") is True and template_changed(old, new)
    return (_waits_while_paused(new),) if waits and known.get("paused") is not False else ()


def _waits_while_paused(workload: JsonObject) -> str:
    return f"{_name(workload)} is under a release, which does not go on while you keep spec.paused true"


def _name(workload: JsonObject) -> str:
    return f"{text(workload, 'kind')} {text(workload, 'metadata', 'name')}"


def _as_written(new: JsonObject, stored: JsonObject) -> bool:
    """`spec.paused` takes effect at once: the admission pause does not decide it."""
    return same(child(new, "spec").get("paused"), child(stored, "spec").get("paused"))


def _resumed(old: JsonObject, new: JsonObject) -> bool:
    # kubectl removes the field, other clients write false.
    return child(old, "spec").get("paused") is True and child(new, "spec").get("paused") is not True


def _record(workload: JsonObject) -> JsonObject | None:
    """The recorded values of the owner; None if nothing is held."""
    try:
        record = decoded(text(workload, "metadata", "annotations", ORIGINAL_STRATEGY), object)
    except msgspec.DecodeError:
        return None
    return record if isinstance(record, dict) else None
