"""The view says which corrections admission accepts, so that no command is offered that it would refuse."""

from typing import Any

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.api.rollout import Rollout
from controller.cli.views.look import look_at
from controller.domain.admission.rollout import admit_rollout
from controller.domain.observation import Observation
from controller.domain.rollout.words.goal import Goal
from tests.unit.cli.builders import NOW


def rollout(phase: str, progress: str, *, stalled: bool, goal: str) -> JsonObject:
    """A Rollout in JSON, in this state."""
    conditions: list[Any] = [
        {"type": "Progressing", "status": "True", "reason": progress},
        {"type": "Stalled", "status": str(stalled), "reason": "ServiceNotFound"},
    ]
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {
                "canary": {
                    "steps": [{"replicas": "20%", "traffic": "20%"}],
                    "trafficRoutings": [{"service": "web", "ingress": {"name": "web"}}],
                }
            },
        },
        "status": {
            "phase": phase,
            "conditions": conditions,
            "moonshift": {"step": 1, "state": "BeforeStepUpgrade", "goal": goal},
        },
    }


def refuses(old: JsonObject, *path: str, to: Any) -> bool:
    """Whether admission refuses the Rollout with another value there."""
    new: Any = msgspec.json.decode(msgspec.json.encode(old))
    place = new["spec"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return bool(admit_rollout(old, new, ()).findings)


@pytest.mark.parametrize("goal", ["", Goal.CONTINUOUS])
@pytest.mark.parametrize("stalled", [True, False])
@pytest.mark.parametrize("progress", ["Initializing", "InRolling", "Cancelling", "Completed"])
@pytest.mark.parametrize("phase", ["Initial", "Healthy", "Progressing", "Terminating", "Disabling"])
def test_a_correction_is_offered_exactly_while_admission_accepts_it(
    phase: str, progress: str, stalled: bool, goal: str
) -> None:
    raw = rollout(phase, progress, stalled=stalled, goal=goal)
    view = look_at(Observation(msgspec.convert(raw, Rollout), plan_hash=""), NOW, {})
    routings = [{"service": "web", "ingress": {"name": "other"}}]
    path = ("strategy", "canary", "trafficRoutings")
    assert view.routes_fixed is refuses(raw, *path, to=routings)
    assert view.workload_fixed is refuses(raw, "workloadRef", "name", to="other")
