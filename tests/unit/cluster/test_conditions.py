"""The checker of conditions flags bad histories, one for each thing that it looks at, and no good ones."""

import copy
from collections.abc import Callable, Mapping

import pytest

from localcluster.api import JsonObject
from localcluster.history import Key
from tests.cluster import manifests
from tests.cluster.invariants import judge_end
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import NEW_IMAGE
from tests.unit.cluster.history_builder import APP, HistoryBuilder, at_rest

RULE = "ConditionsAreTrue"
Said = Mapping[str, tuple[str, str, str]]
"""Status, reason and message of each condition."""
PHASES: Mapping[str, Said] = {
    "Progressing": {
        "Progressing": ("True", "InRolling", "step 1"),
        "Stalled": ("False", "", ""),
        "Reconciling": ("True", "InRolling", "step 1"),
        "Ready": ("False", "Progressing", "step 1"),
    },
    "Healthy": {
        "Progressing": ("False", "Completed", "done"),
        "Stalled": ("False", "", ""),
        "Reconciling": ("False", "", ""),
        "Ready": ("True", "Healthy", ""),
        "Succeeded": ("True", "", ""),
    },
}


def rollout_at(
    phase: str, second: int, generation: int = 1, since: int | None = None, **other: object
) -> JsonObject:
    """The Rollout in a phase since a second, at a second; `other` are conditions in place of the usual ones."""
    fields = {**PHASES[phase], **other}
    conditions = [
        {
            **dict(zip(("status", "reason", "message"), each, strict=True)),
            "type": kind,
            "lastTransitionTime": f"2026-01-01T00:00:{second if since is None else since:02}Z",
            "lastUpdateTime": f"2026-01-01T00:00:{second:02}Z",
        }
        for kind, each in fields.items()
        if isinstance(each, tuple)
    ]
    status = {"phase": phase, "observedGeneration": generation, "conditions": conditions}
    metadata = {"name": "shop", "namespace": "here", "uid": "r-1", "generation": 1}
    return {"metadata": metadata, "spec": manifests.rollout(APP)["spec"], "status": status}


def history_of(*rollouts: JsonObject) -> HistoryBuilder:
    """A release whose last step is approved, and the Rollout's revisions one after the other."""
    history = at_rest().do("release", NEW_IMAGE)
    for _ in APP.steps:
        history.do("approve")
    for rollout in rollouts:
        history.put(ROLLOUTS, "shop", rollout)
    return history


def changed(rollout: JsonObject, kind: str, **fields: str | None) -> JsonObject:
    """The Rollout with other fields of a condition; None takes a field off."""
    rollout = copy.deepcopy(rollout)
    (found,) = [each for each in rollout["status"]["conditions"] if each["type"] == kind]
    for name, value in fields.items():
        found[name] = value
        if value is None:
            del found[name]
    return rollout


def with_generation(rollout: JsonObject, generation: int) -> JsonObject:
    rollout["metadata"]["generation"] = generation
    return rollout


def told_twice() -> JsonObject:
    rollout = rollout_at("Healthy", 1)
    rollout["status"]["conditions"] *= 2
    return rollout


def early() -> HistoryBuilder:
    """A release with the condition Succeeded while it waits at its first step."""
    history = at_rest().do("release", NEW_IMAGE).put(ROLLOUTS, "shop", rollout_at("Progressing", 1))
    return history.put(ROLLOUTS, "shop", rollout_at("Healthy", 2))


STALLED = ("True", "SideWithoutEndpoints", "no pod is ready")
BAD: dict[str, Callable[[], HistoryBuilder]] = {
    "a transition time that moves although the status stays": (
        lambda: history_of(rollout_at("Progressing", 1), rollout_at("Progressing", 2))
    ),
    "a transition time that goes back when the status changes": (
        lambda: history_of(rollout_at("Progressing", 2), rollout_at("Healthy", 3, since=1))
    ),
    "a condition without a transition time": (
        lambda: history_of(
            rollout_at("Healthy", 1),
            changed(rollout_at("Healthy", 1), "Ready", lastTransitionTime=None),
        )
    ),
    "an update that is older than the transition": (
        lambda: history_of(
            rollout_at("Progressing", 1),
            changed(rollout_at("Healthy", 2), "Ready", lastUpdateTime="2026-01-01T00:00:01Z"),
        )
    ),
    "a generation that goes back": (
        lambda: history_of(
            with_generation(rollout_at("Healthy", 1, 2), 2),
            with_generation(rollout_at("Healthy", 1, 1), 2),
        )
    ),
    "a generation that does not exist yet": lambda: history_of(rollout_at("Healthy", 1, 2)),
    "a condition that is there twice": lambda: history_of(told_twice()),
    "Ready while a release is under way": (
        lambda: history_of(rollout_at("Progressing", 1, Ready=("True", "Progressing", "")))
    ),
    "Ready and Stalled at the same time": lambda: history_of(
        rollout_at("Healthy", 1, Stalled=STALLED)
    ),
    "not Ready without a word why": (
        lambda: history_of(rollout_at("Progressing", 1, Ready=("False", "Progressing", "")))
    ),
    "Reconciling at rest": lambda: history_of(
        rollout_at("Healthy", 1, Reconciling=("True", "", ""))
    ),
    "not Reconciling in a release": (
        lambda: history_of(rollout_at("Progressing", 1, Reconciling=("False", "", "")))
    ),
    "Stalled without a reason": (
        lambda: history_of(rollout_at("Progressing", 1, Stalled=("True", "", "no pod is ready")))
    ),
    "Stalled without a word why": (
        lambda: history_of(
            rollout_at("Progressing", 1, Stalled=("True", "SideWithoutEndpoints", ""))
        )
    ),
    "a reason to be Stalled that is over": (
        lambda: history_of(
            rollout_at("Progressing", 1, Stalled=("False", "SideWithoutEndpoints", ""))
        )
    ),
    "Progressing with the reason Completed": (
        lambda: history_of(rollout_at("Progressing", 1, Progressing=("True", "Completed", "done")))
    ),
    "Progressing at rest": (
        lambda: history_of(rollout_at("Healthy", 1, Progressing=("True", "InRolling", "step 1")))
    ),
    "a phase Progressing without its condition": (
        lambda: history_of(rollout_at("Progressing", 1, Progressing=None))
    ),
    "Succeeded before the end": (
        lambda: history_of(rollout_at("Progressing", 1, Succeeded=("True", "", "")))
    ),
    "an end without Succeeded": (
        lambda: history_of(rollout_at("Progressing", 1), rollout_at("Healthy", 2, Succeeded=None))
    ),
    "Succeeded before the last approval": early,
}


@pytest.mark.parametrize("name", BAD)
def test_the_checker_flags(name: str) -> None:
    assert RULE in BAD[name]().broken()


def with_honest_times(*rollouts: JsonObject) -> tuple[JsonObject, ...]:
    """The same, each transition time that of the condition's last change."""
    known: dict[str, tuple[str, str]] = {}
    for rollout in rollouts:
        for item in rollout["status"]["conditions"]:
            status, since = known.get(item["type"], ("", ""))
            if item["status"] == status:
                item["lastTransitionTime"] = since
            known[item["type"]] = (item["status"], item["lastTransitionTime"])
    return rollouts


def test_a_release_from_its_begin_to_its_end_passes() -> None:
    revisions = with_honest_times(
        rollout_at("Healthy", 1),
        rollout_at("Progressing", 2),
        rollout_at("Progressing", 3, Stalled=STALLED),
        rollout_at("Progressing", 4),
        rollout_at("Healthy", 5),
    )
    assert RULE not in history_of(*revisions).broken()


def test_a_rollout_made_again_begins_with_its_first_generation() -> None:
    again = rollout_at("Healthy", 1, 1)
    again["metadata"]["uid"] = "r-2"
    history = history_of(with_generation(rollout_at("Healthy", 3, 3), 3), again)
    assert RULE not in history.broken()


def test_a_status_of_the_original_controller_is_not_judged() -> None:
    theirs = rollout_at("Progressing", 1, Ready=None, Succeeded=("True", "", ""))
    assert RULE not in history_of(theirs).broken()


def test_a_status_about_an_earlier_generation_is_no_end() -> None:
    rollout = with_generation(rollout_at("Healthy", 1, 1), 2)
    found = judge_end(APP, {Key(ROLLOUTS, "here", "shop"): rollout}, {})
    assert [each.rule for each in found] == ["the_status_is_about_the_present_generation"]
    assert judge_end(APP, {Key(ROLLOUTS, "here", "shop"): rollout_at("Healthy", 1)}, {}) == []
