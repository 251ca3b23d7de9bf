"""The label is removed or the object is replaced: the marks that stay, and the marks that go."""

import msgspec
import pytest

from controller.api.jsontree import JsonObject, child, text
from controller.api.meta import ObjectMeta
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ORIGINAL_STRATEGY,
    STABLE_REVISION,
    WORKLOAD_TYPE,
)
from controller.api.rollout import (
    BlueGreenStrategy,
    MoonshiftStatus,
    Rollout,
    RolloutStatus,
    Step,
    Strategy,
)
from controller.domain.admission.verdict import Unchanged
from controller.domain.admission.workload import (
    admit_deployment,
    needs_replica_sets,
    template_hash_of,
)
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.deployment_reviews import (
    ONE,
    OWN,
    TWO,
    annotation,
    held,
    judged,
    result,
    set_in,
    spec,
    stored,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout, with_image

GOING = pytest.mark.parametrize(
    "under",
    [
        pytest.param(None, id="no-rollout"),
        pytest.param(rollout(disabled=True), id="switched-off"),
        pytest.param(rollout("Disabling"), id="being-switched-off"),
        pytest.param(rollout("Terminating"), id="being-deleted"),
    ],
)


@GOING
def test_taking_the_label_off_gives_the_owner_everything_back(under: Rollout | None) -> None:
    old = stored(deployment(minReadySeconds=4), deployment("v2", minReadySeconds=4))
    free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
    out = result(admit_deployment(old, free, under, ONE), free)
    assert child(out, "spec") == {**child(deployment("v2", minReadySeconds=4), "spec")}
    assert not child(out, "metadata", "annotations")
    assert not child(out, "metadata", "labels")


def replaced(image: str, **fields: object) -> JsonObject:
    """The owner's bare manifest, as `kubectl replace` stores it: nothing of ours is left."""
    return set_in(deployment(image, **fields), "metadata", "labels", to=None)


def test_the_label_stays_while_a_release_is_under_way() -> None:
    for old in (held(), stored(deployment(), deployment("v2"))):
        free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
        assert stored(old, free, TWO) == old


def test_a_manifest_that_replaces_the_workload_changes_nothing_but_its_owners_values() -> None:
    old = held("v2", minReadySeconds=4)
    new = stored(old, replaced("v2", minReadySeconds=9), TWO)
    record = hold_on(new).record
    assert record is not None
    assert (record.min_ready_seconds, record.strategy, record.paused) == (9, OWN, False)
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"
    assert text(new, "metadata", "labels", STABLE_REVISION) == "h1"
    assert annotation(new, IN_PROGRESSING) == annotation(old, IN_PROGRESSING)
    assert child(new, "spec") == child(old, "spec")


def test_replacing_an_admission_paused_workload_keeps_the_pause() -> None:
    old = stored(deployment(), deployment("v2"))
    new = stored(old, replaced("v2"))
    assert child(new, "spec") == child(old, "spec")
    assert annotation(new, ADMISSION_PAUSE) == annotation(old, ADMISSION_PAUSE)


def test_a_third_revision_that_replaces_the_workload_is_admission_paused() -> None:
    old = held()
    new = stored(old, replaced("v3"), TWO)
    assert spec(new, "paused") is True
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert annotation(new, ADMISSION_PAUSE)
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"


def test_a_workload_at_rest_that_is_replaced_with_another_template_is_released() -> None:
    new = stored(deployment(), replaced("v2"))
    assert spec(new, "paused") is True
    assert text(new, "metadata", "labels", WORKLOAD_TYPE) == "deployment"
    assert annotation(new, ADMISSION_PAUSE)


def test_taking_the_label_off_an_idle_workload_passes() -> None:
    out = set_in(deployment(), "metadata", "labels", WORKLOAD_TYPE, to=None)
    assert judged(deployment(), out) == Unchanged()


def test_a_bare_admission_pause_goes_with_the_label() -> None:
    old = set_in(deployment(paused=True), "metadata", "annotations", ADMISSION_PAUSE, to="x")
    free = set_in(old, "metadata", "labels", WORKLOAD_TYPE, to=None)
    out = result(admit_deployment(old, free, None, ONE), free)
    assert "paused" not in child(out, "spec")


def test_replica_sets_are_needed_only_for_a_change_of_the_template_or_id() -> None:
    assert needs_replica_sets(deployment(), deployment("v2"))
    assert not needs_replica_sets(deployment(), deployment(replicas=3))


def test_an_approved_revision_counts_as_stable_before_the_label_says_so() -> None:
    old = held("v3")
    position = MoonshiftStatus(stable_template=template_hash_of(deployment("v2")))
    under = msgspec.structs.replace(rollout(), status=RolloutStatus(moonshift=position))
    new = stored(old, with_image(old, "v2"), TWO, under)
    assert "minReadySeconds" not in child(new, "spec")
    assert annotation(new, ADMISSION_PAUSE)


@pytest.mark.parametrize("text_", ["nonsense", "[]", '{"minReadySeconds": "x"}', '{"maxSurge": 1}'])
def test_a_record_of_another_program_is_not_ours(text_: str) -> None:
    old = set_in(held(), "metadata", "annotations", ORIGINAL_STRATEGY, to=text_)
    assert hold_on(old).record is None


def test_a_release_without_an_older_revision_has_no_stable_one() -> None:
    """Its only pods are of revisions that carry no hash label."""
    bare = msgspec.structs.replace(replica_set("v1", 1), metadata=ObjectMeta(name="x"))
    new = stored(deployment(), deployment("v2"), (bare,))
    assert STABLE_REVISION not in child(new, "metadata", "labels")


def test_a_way_back_from_blue_green_keeps_the_freeze_because_the_stable_revision_is_whole() -> None:
    under = rollout()
    plan = BlueGreenStrategy(steps=(Step(replicas=1),))
    spec = msgspec.structs.replace(under.spec, strategy=Strategy(blue_green=plan))
    under = msgspec.structs.replace(under, spec=spec)
    old = deployment()
    held = stored(old, with_image(old, "v2"), ONE, under)
    both = (replica_set("v1", 1, 10), replica_set("v2", 2, 10))
    back = stored(held, with_image(held, "v1"), both, under)
    assert child(back, "spec")["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert child(back, "spec")["paused"] is True
    partition = stored(held, with_image(held, "v1"), both)
    assert child(partition, "spec").get("minReadySeconds") is None
