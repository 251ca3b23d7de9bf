"""Argo CD's health and actions, and kstatus, say the truth in every state that a release goes through."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from controller.api.rollout import Phase, Rollout, StepState
from controller.cli.views.waiting import stalled
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.domain.rollout.words.release_context import current_state
from tests.gitops import argocd
from tests.gitops.kstatus import Status, kstatus
from tests.gitops.states import every_state
from tests.unit.luaworker.engine import result

STATES = every_state()
CRDS = Path(__file__).parents[2] / "deploy" / "crds"


def plain(rollout: Rollout, **changes: Any) -> dict[str, Any]:
    """As the API server sends it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(rollout))
    return {**found, **changes}


EACH = """
local function answer(obj)
{script}
end
local answers = {{}}
for index, one in ipairs(obj) do
  answers[index] = answer(one)
end
return answers
"""


def run_each(script: str, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a script for each object, in one state of the worker's Lua."""
    whole = EACH.format(script=argocd.script(script))
    found: list[dict[str, Any]] = msgspec.json.decode(result(whole, msgspec.json.encode(objects)))
    return found


def run(script: str, obj: dict[str, Any]) -> dict[str, Any]:
    """The answer of a script for one object."""
    (found,) = run_each(script, [obj])
    return found


def answers_by_state(script: str) -> list[tuple[Rollout, dict[str, Any]]]:
    """Every state, and a script's answer for it."""
    return list(zip(STATES, run_each(script, [*map(plain, STATES)]), strict=True))


def was_approved(rollout: Rollout) -> bool:
    """An approval lies in the mailbox, and nobody has taken it up."""
    inner = rollout.status.of_release
    return inner is not None and inner.current_step_state == StepState.STEP_READY


def expected(rollout: Rollout) -> str:
    """By the controller's own reading of a status."""
    status = rollout.status
    if rollout.metadata.deleting or rollout.metadata.generation > status.observed_generation:
        return "Progressing"
    if stalled(status):
        return "Degraded"
    if status.phase in (Phase.HEALTHY, Phase.DISABLED):
        return "Healthy"
    held = status.phase == Phase.PROGRESSING and rollout.spec.strategy.paused
    waits = awaits_approval(rollout) and not was_approved(rollout)
    return "Suspended" if held or waits else "Progressing"


def test_the_examples_cover_every_state() -> None:
    assert {rollout.status.phase for rollout in STATES} >= {*Phase}
    for part in ("canary_status", "blue_green_status"):
        there = [rollout for rollout in STATES if getattr(rollout.status, part) is not None]
        assert {current_state(rollout.status) for rollout in there} >= {*StepState} - {
            StepState.STEP_METRICS_ANALYSIS,
            StepState.STEP_READY,
        }
    assert any(stalled(rollout.status) for rollout in STATES)
    assert any(rollout.metadata.deleting for rollout in STATES)
    assert {expected(rollout) for rollout in STATES} == {
        "Progressing",
        "Degraded",
        "Healthy",
        "Suspended",
    }


def test_argo_cd_shows_the_health_of_every_state() -> None:
    for rollout, found in answers_by_state("health"):
        assert found["status"] == expected(rollout), rollout.status
        if found["status"] == "Degraded":
            assert found["message"] in stalled(rollout.status)


def test_an_unobserved_rollout_is_progressing() -> None:
    for status in ({}, None, {"observedGeneration": -1}, {"observedGeneration": 1}):
        obj = plain(STATES[0], metadata={"name": "web", "generation": 2}, status=status)
        assert run("health", obj)["status"] == "Progressing"


@pytest.mark.parametrize("file", ["rollouts.yaml", "trafficroutings.yaml"])
def test_an_object_that_was_just_made_is_not_taken_for_a_finished_one(file: str) -> None:
    crd = yaml.safe_load((CRDS / file).read_text())
    for version in crd["spec"]["versions"]:
        made = version["schema"]["openAPIV3Schema"]["properties"]["status"]["default"]
        obj = {"metadata": {"generation": 1}, "spec": {}, "status": made}
        assert kstatus(obj) is Status.IN_PROGRESS
        assert kstatus({**obj, "status": {}}) is Status.CURRENT
        assert run("health", obj)["status"] == "Progressing"


def test_a_traffic_routing_is_read_by_the_same_rules() -> None:
    for stalled_, ready, health in (
        ("False", "True", "Healthy"),
        ("False", "False", "Progressing"),
        ("True", "False", "Degraded"),
    ):
        conditions = [{"type": "Stalled", "status": stalled_, "message": "no Service"}]
        conditions.append({"type": "Ready", "status": ready})
        status = {"observedGeneration": 1, "phase": "Progressing", "conditions": conditions}
        obj = {"metadata": {"generation": 1}, "spec": {}, "status": status}
        assert run("health", obj)["status"] == health


def test_actions_are_offered_where_they_do_something() -> None:
    changes = {name: answers_by_state(f"actions/{name}") for name in argocd.ACTIONS}
    for index, (rollout, offered) in enumerate(answers_by_state("actions/discovery")):
        can = {name for name, action in offered.items() if not action["disabled"]}
        releasing, paused = rollout.status.phase == Phase.PROGRESSING, rollout.spec.strategy.paused
        at_pause = current_state(rollout.status) == StepState.STEP_PAUSED
        at_pause = at_pause and not was_approved(rollout)
        assert ("approve" in can) == (releasing and at_pause)
        assert ("pause" in can) == (releasing and not paused)
        assert ("resume" in can) == paused
        assert set(offered) == set(argocd.ACTIONS)
        for name in argocd.ACTIONS:
            changed = changes[name][index][1]
            assert changed != plain(rollout) or name not in can


def test_approve_writes_the_mailbox_of_the_style() -> None:
    seen = set()
    for _, changed in answers_by_state("actions/approve"):
        for part in ("canaryStatus", "blueGreenStatus"):
            inner = changed["status"].get(part) or {}
            if inner.get("currentStepState") == "StepReady":
                seen.add(part)
    assert seen == {"canaryStatus", "blueGreenStatus"}


def test_retry_lets_a_revision_and_its_gates_be_tried_again() -> None:
    ours = {"failedTemplate": "x", "analyses": [{"step": 1, "verdict": "Failed"}], "step": 1}
    obj = {"metadata": {}, "spec": {}, "status": {"moonshift": ours}}
    assert run("actions/discovery", obj)["retry"] == {"disabled": False}
    assert run("actions/retry", obj)["status"]["moonshift"] == {"step": 1}
    ours["analyses"] = [{"verdict": "Inconclusive"}, {"step": 1, "verdict": "Passed"}]
    left = run("actions/retry", obj)["status"]["moonshift"]["analyses"]
    assert left == [{"step": 1, "verdict": "Passed"}]


def test_pause_and_resume_are_written_into_the_spec() -> None:
    obj = plain(STATES[0])
    assert run("actions/pause", obj)["spec"]["strategy"]["paused"] is True
    obj["spec"]["strategy"]["paused"] = True
    assert "paused" not in run("actions/resume", obj)["spec"]["strategy"]


def test_the_config_map_holds_the_scripts_that_are_tested() -> None:
    assert argocd.FILE.read_text() == argocd.config_map(), "run `make generate`"
    data = yaml.safe_load(argocd.FILE.read_text())["data"]
    assert data["resource.customizations.health.rollouts.kruise.io_Rollout"] == argocd.script(
        "health"
    )
    actions = yaml.safe_load(data["resource.customizations.actions.rollouts.kruise.io_Rollout"])
    assert actions["discovery.lua"] == argocd.script("actions/discovery")
    assert {one["name"]: one["action.lua"] for one in actions["definitions"]} == {
        name: argocd.script(f"actions/{name}") for name in argocd.ACTIONS
    }


# --- kstatus ------------------------------------------------------------------------------------

KSTATUS = {
    "Degraded": Status.FAILED,
    "Healthy": Status.CURRENT,
    "Suspended": Status.IN_PROGRESS,
    "Progressing": Status.IN_PROGRESS,
}


def test_kstatus_is_right_in_every_state() -> None:
    for rollout in STATES:
        wanted = KSTATUS[expected(rollout)]
        if not rollout.status.phase:
            continue  # what the CRD's default is for, below
        if rollout.metadata.deleting:
            wanted = Status.TERMINATING
        assert kstatus(plain(rollout)) == wanted, rollout.status
