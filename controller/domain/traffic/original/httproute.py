"""Computes the original of an HTTPRoute that the original controller changed, because that controller stores none.

That controller adds a reference to the canary Service to each rule that leads to the stable one, or a rule of its own
whose only backend is the canary Service. Both are removed; the stable Service's weight is then 1, as that
controller leaves it (the owner's weight is not known any more).
Invariant: a rule that does not name a canary Service is not changed.
"""

from controller.domain.decision import Reference
from controller.domain.traffic.original.content import content_of, write_original
from controller.domain.traffic.tree import Json, decode_tree

KIND = "HTTPRoute"
GROUP = "gateway.networking.k8s.io"


def computed_original(raw: bytes, reference: Reference) -> str | None:
    """The text to store as the original; None if the original controller did not change the object."""
    if (reference.group, reference.kind) != (GROUP, KIND) or reference.shared:
        return None
    try:
        content = content_of(decode_tree(raw))
    except ValueError:
        return None
    spec = content.get("spec")
    rules = spec.get("rules") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(rules, list):
        return None
    kept: list[Json] = [
        rule for rule in (_without_canary(rule, reference) for rule in rules) if rule is not None
    ]
    if kept == rules:
        return None
    return write_original({**content, "spec": {**spec, "rules": kept}})


def _without_canary(rule: Json, reference: Reference) -> Json:
    """The rule without the canary Service; None if it has no other backend."""
    backends = rule.get("backendRefs") if isinstance(rule, dict) else None
    if not isinstance(rule, dict) or not isinstance(backends, list):
        return rule
    others = [ref for ref in backends if not _names(ref, reference.canary_service)]
    if len(others) == len(backends):
        return rule
    if not others:
        return None
    kept_backends = [
        _with_weight_one(ref) if _names(ref, reference.stable_service) else ref for ref in others
    ]
    return {**rule, "backendRefs": kept_backends}


def _names(ref: Json, service: str) -> bool:
    return (
        isinstance(ref, dict)
        and ref.get("kind", "Service") == "Service"
        and ref.get("name") == service
    )


def _with_weight_one(ref: Json) -> Json:
    return {**ref, "weight": 1} if isinstance(ref, dict) else ref
