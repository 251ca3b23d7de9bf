"""The placeholders in texts of metrics: the words of a release, read from a Rollout as far as it has them.

Invariant: the same words as the controller's; an unknown one is empty, and reported for a metric that names it. The
command line may give a value for each of them.
"""

from collections.abc import Mapping

from controller.api.meta import ObjectMeta
from controller.api.names import CANARY_SUFFIX
from controller.api.rollout import Rollout
from controller.cli.gates.given import Gate
from controller.domain.rollout.words.release_context import canary_status, moonshift_status

_KNOWN = (
    *("namespace", "rollout", "workload", "step", "weight"),
    *("stable.service", "canary.service", "stable.revision", "canary.revision"),
    *("stable.workload", "canary.workload"),
)


def words_of(
    rollout: Rollout | None, workload: ObjectMeta, namespace: str, gate: Gate
) -> dict[str, str]:
    """The words that are known; the rest are empty."""
    words = dict.fromkeys(_KNOWN, "") | {"namespace": namespace}
    plan = rollout.spec.strategy.plan if rollout is not None else None
    if rollout is None or plan is None:
        return words
    ours, inner = moonshift_status(rollout.status), canary_status(rollout.status)
    stable = plan.traffic_routings[0].service if plan.traffic_routings else ""
    shared = plan.disable_generate_canary_service
    step = gate.step or ours.step or 1
    weight = plan.steps[step - 1].traffic if 0 < step <= len(plan.steps) else None
    name = workload.name or rollout.spec.workload_ref.name
    return words | {
        "namespace": rollout.metadata.namespace or namespace,
        "rollout": rollout.metadata.name,
        "workload": name,
        "step": str(step),
        "weight": (weight or "0%").removesuffix("%"),
        "stable.service": stable,
        "canary.service": stable if shared or not stable else stable + CANARY_SUFFIX,
        "stable.revision": ours.stable_revision or inner.stable_revision,
        "canary.revision": inner.pod_template_hash,
        "stable.workload": name,
        "canary.workload": name,
    }


def split_values(
    words: Mapping[str, str], values: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The variables, with the values of the command line; its other values are arguments."""
    own = {name: value for name, value in values.items() if name in _KNOWN}
    arguments = {name: value for name, value in values.items() if name not in _KNOWN}
    return {**words, **own}, arguments


def of_the_stable(words: Mapping[str, str]) -> dict[str, str]:
    """The stable revision in the new one's place: for the verdict that a gate would have given without any release."""
    sides = {
        f"canary.{what}": words[f"stable.{what}"] for what in ("service", "revision", "workload")
    }
    return {**words, **sides}
