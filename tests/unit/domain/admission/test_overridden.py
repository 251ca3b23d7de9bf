"""Owners see at once which values take effect only at the end of a release."""

import copy

import pytest
from msgspec import structs

from controller.api.jsontree import JsonObject, changed, child
from controller.api.names import ADMISSION_PAUSE, ORIGINAL_STRATEGY, ROLLOUT_ID, WORKLOAD_TYPE
from controller.api.rollout import MoonshiftStatus, RolloutStatus
from controller.domain.admission.overridden import overridden
from controller.domain.admission.verdict import Amended
from controller.domain.admission.workload import (
    admit_deployment,
    stable_template_of,
    template_hash_of,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout, with_image


def stored(old: JsonObject, new: JsonObject) -> JsonObject:
    """The object after admission of an update."""
    verdict = admit_deployment(old, new, rollout(), [replica_set("v1", 1)])
    return verdict.obj if isinstance(verdict, Amended) else new


def held() -> JsonObject:
    """A Deployment in the middle of a release, past its first move."""
    admission_paused = stored(deployment("v1"), with_image(deployment("v1"), "v2"))
    free = changed(
        copy.deepcopy(admission_paused), ("metadata", "annotations", ADMISSION_PAUSE), None
    )
    return changed(free, ("spec", "paused"), None)


def warnings(old: JsonObject, new: JsonObject) -> tuple[str, ...]:
    return overridden(old, new, stored(old, new))


def test_another_template_in_the_middle_of_a_release_is_answered() -> None:
    old = held()
    new = with_image(old, "v3")
    (warning,) = overridden(old, new, stored(old, new), "hash of v1")
    assert warning.startswith("Deployment web is under a release: with another pod template")


def test_the_way_back_and_a_change_without_a_release_say_nothing() -> None:
    old = held()
    back = with_image(old, "v1")
    assert overridden(old, back, stored(old, back), template_hash_of(back)) == ()
    new = with_image(old, "v3")
    assert overridden(old, new, stored(old, new), "") == ()
    bare = deployment("v1")
    assert overridden(bare, with_image(bare, "v2"), with_image(bare, "v2"), "hash of v0") == ()


def test_only_a_release_under_way_has_a_template_to_go_back_to() -> None:
    assert stable_template_of(rollout()) == ""
    under_way = MoonshiftStatus(release="r", stable_template="t")
    going = structs.replace(rollout(), status=RolloutStatus(moonshift=under_way))
    assert stable_template_of(going) == "t"
    at_rest = RolloutStatus(moonshift=MoonshiftStatus(stable_template="t"))
    assert stable_template_of(structs.replace(going, status=at_rest)) == ""


def test_a_warning_says_that_an_id_alone_rolls_a_deployment_back() -> None:
    old = deployment("v1")
    new = changed(copy.deepcopy(old), ("metadata", "annotations", ROLLOUT_ID), "second")
    (warning,) = warnings(old, new)
    assert warning == (
        "Deployment web has another rollouts.kruise.io/rollout-id and the same pod template: that is a rollback of a "
        "Deployment, which ends at once; change the template to release it"
    )


def test_an_id_that_comes_with_a_template_says_nothing() -> None:
    new = with_image(deployment("v1"), "v2")
    new = changed(new, ("metadata", "annotations", ROLLOUT_ID), "second")
    assert warnings(deployment("v1"), new) == ()


def test_the_first_admission_of_a_release_says_nothing() -> None:
    assert warnings(deployment("v1"), with_image(deployment("v1"), "v2")) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("minReadySeconds", 7),
        ("progressDeadlineSeconds", 99),
        ("strategy", {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}}),
    ],
)
def test_fields_that_are_kept_for_the_end_are_named(field: str, value: object) -> None:
    old = held()
    (warning,) = warnings(old, changed(copy.deepcopy(old), ("spec", field), value))
    assert warning.startswith(f"Deployment web is under a release: spec.{field} as you wrote it")


def test_an_unchanged_manifest_applied_again_causes_no_warning() -> None:
    old = held()
    again = copy.deepcopy(old)
    child(again)["spec"] = child(with_image(deployment("v1"), "v2"), "spec")
    assert warnings(old, again) == ()


@pytest.mark.parametrize("paused", [False, None], ids=["written", "taken away by kubectl"])
def test_a_resume_while_traffic_is_not_safe_is_answered(paused: bool | None) -> None:
    old = stored(deployment("v1"), with_image(deployment("v1"), "v2"))
    (warning,) = warnings(old, changed(copy.deepcopy(old), ("spec", "paused"), paused))
    assert warning.startswith("Deployment web stays paused until traffic is safe")


def test_a_warning_says_that_a_pause_stops_the_release_at_once() -> None:
    old = held()
    paused = changed(copy.deepcopy(old), ("spec", "paused"), True)
    (warning,) = warnings(old, paused)
    assert warning == (
        "Deployment web is under a release, which does not go on while you keep spec.paused true"
    )
    assert (
        warnings(stored(old, paused), changed(copy.deepcopy(paused), ("spec", "paused"), False))
        == ()
    )


def test_a_record_that_cannot_be_read_says_nothing() -> None:
    odd = changed(held(), ("metadata", "annotations", ORIGINAL_STRATEGY), "[]")
    assert overridden(odd, odd, odd) == ()


def test_a_label_that_stays_is_answered_with_the_ways_out() -> None:
    old = held()
    free = changed(copy.deepcopy(old), ("metadata", "labels", WORKLOAD_TYPE), None)
    (warning,) = warnings(old, free)
    assert "of the release stay" in warning
    assert "delete its Rollout or set spec.disabled" in warning
    idle = deployment("v1")
    assert warnings(idle, changed(copy.deepcopy(idle), ("metadata", "labels"), None)) == ()


def test_a_template_for_a_paused_deployment_is_answered_with_the_reason_for_the_wait() -> None:
    waits = (
        "Deployment web is under a release, which does not go on while you keep spec.paused true"
    )
    old = deployment("v1", paused=True)
    assert warnings(old, with_image(old, "v2")) == (waits,)
    running = held()
    paused = changed(copy.deepcopy(running), ("spec", "paused"), True)
    assert warnings(stored(running, paused), with_image(stored(running, paused), "v3")) == (waits,)
    assert warnings(running, with_image(paused, "v3")) == (waits,)


def test_no_warning_says_that_a_resume_under_the_admission_pause_is_kept_for_the_end() -> None:
    old = deployment("v1", paused=True)
    waiting = stored(old, with_image(old, "v2"))
    (warning,) = warnings(waiting, changed(copy.deepcopy(waiting), ("spec", "paused"), None))
    assert warning.startswith("Deployment web stays paused until traffic is safe")
