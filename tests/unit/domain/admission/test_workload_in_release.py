"""Updates of a Deployment in the middle of its release."""

import msgspec
import pytest
from msgspec import structs

from controller.api.jsontree import child
from controller.api.names import (
    ADMISSION_PAUSE,
    FREEZE_MIN_READY_SECONDS,
    IN_PROGRESSING,
    ROLLOUT_ID,
    STABLE_REVISION,
)
from controller.api.rollout import (
    BlueGreenStrategy,
    MoonshiftStatus,
    RolloutStatus,
    Step,
    Strategy,
)
from controller.domain.admission.verdict import Refused, Unchanged
from controller.domain.admission.workload import governing, template_hash_of
from controller.domain.pods.marks import hold_on
from tests.unit.domain.admission.deployment_reviews import (
    OWN,
    TWO,
    annotation,
    held,
    judged,
    set_in,
    spec,
    stored,
)
from tests.unit.domain.admission.objects import deployment, replica_set, rollout, with_image


def test_a_manifest_applied_again_changes_nothing() -> None:
    old = held()
    manifest = deployment("v2")
    applied = set_in(old, "spec", "strategy", to=OWN)
    applied = set_in(applied, "spec", "progressDeadlineSeconds", to=600)
    applied = set_in(applied, "spec", "minReadySeconds", to=spec(manifest, "minReadySeconds"))
    new = stored(old, applied, TWO)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "strategy") == spec(old, "strategy")
    assert hold_on(new).record == hold_on(old).record


def test_the_owners_values_are_recorded_during_a_release() -> None:
    old = held()
    wanted = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}
    applied = set_in(old, "spec", "strategy", to=wanted)
    applied = set_in(applied, "spec", "minReadySeconds", to=7)
    new = stored(old, applied, TWO)
    record = hold_on(new).record
    assert record is not None
    assert (record.strategy, record.min_ready_seconds) == (wanted, 7)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert spec(new, "strategy") == spec(old, "strategy")


@pytest.mark.parametrize(
    ("owners", "surge"),
    [
        # Nobody owns maxUnavailable, so nobody wrote its default: the owner gave up both limits.
        ({"maxSurge": "moonshift"}, "25%"),
        ({"maxSurge": "moonshift", "maxUnavailable": "helm"}, 0),
        ({"maxSurge": "kubectl"}, 0),
        ({}, 0),
    ],
)
def test_a_limit_of_ours_beside_one_that_was_given_up_is_not_recorded_as_the_owners(
    owners: dict[str, str], surge: str
) -> None:
    """Server-side apply removes what its manager owned and the manifest lacks, and keeps what we own as well."""
    old = held()
    limits = {
        "maxSurge": spec(old, "strategy", "rollingUpdate", "maxSurge"),
        "maxUnavailable": "30%",
    }
    applied = set_in(old, "spec", "strategy", "rollingUpdate", to=limits)
    fields = [
        {
            "manager": manager,
            "fieldsV1": {"f:spec": {"f:strategy": {"f:rollingUpdate": {f"f:{limit}": {}}}}},
        }
        for limit, manager in owners.items()
    ]
    record = hold_on(
        stored(old, set_in(applied, "metadata", "managedFields", to=fields), TWO)
    ).record
    assert record is not None
    assert limits["maxSurge"] == 0
    assert record.written_strategy["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": "30%"}


def test_without_the_admission_pause_a_pause_is_the_owners() -> None:
    old = held()
    paused = stored(old, set_in(old, "spec", "paused", to=True), TWO)
    assert spec(paused, "paused") is True
    record = hold_on(paused).record
    assert record is not None
    assert record.paused
    resumed = stored(paused, set_in(paused, "spec", "paused", to=False), TWO)
    assert spec(resumed, "paused") is False


def test_an_untouched_update_passes_untouched() -> None:
    old = held()
    assert judged(old, set_in(old, "metadata", "annotations", "theirs", to="x"), TWO) == Unchanged()


def test_a_template_changed_under_the_same_rollout_id_is_admission_paused_during_a_release() -> (
    None
):
    old = set_in(held(), "metadata", "annotations", ROLLOUT_ID, to="a")
    assert annotation(stored(old, with_image(old, "v3"), TWO), ADMISSION_PAUSE)


def test_the_way_back_is_known_from_status_when_the_label_is_lost() -> None:
    old = set_in(held(), "metadata", "labels", STABLE_REVISION, to=None)
    position = MoonshiftStatus(stable_template=template_hash_of(deployment()))
    under = msgspec.structs.replace(rollout(), status=RolloutStatus(moonshift=position))
    new = stored(old, with_image(old, "v1"), (replica_set("v2", 2, 2),), under)
    assert "minReadySeconds" not in child(new, "spec")


def test_another_template_waits_for_the_end_of_a_release_that_is_being_ended() -> None:
    old = held()
    new = stored(old, with_image(old, "v3"), TWO, rollout("Disabling"))
    assert annotation(new, ADMISSION_PAUSE)
    assert spec(new, "paused") is True
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert hold_on(new).record == hold_on(old).record


def test_strategy_recreate_during_a_release_is_recorded_but_with_a_new_template_it_is_refused() -> (
    None
):
    old = held()
    recreate = set_in(old, "spec", "strategy", to={"type": "Recreate"})
    record = hold_on(stored(old, recreate, TWO)).record
    assert record is not None
    assert record.strategy == {"type": "Recreate"}
    assert isinstance(judged(old, with_image(recreate, "v3"), TWO), Refused)


def test_a_change_while_the_release_is_finishing_begins_a_new_one() -> None:
    """The hold is gone and the mark still there."""
    finishing = set_in(
        deployment("v2"), "metadata", "annotations", IN_PROGRESSING, to='{"rolloutName":"r"}'
    )
    new = stored(finishing, with_image(finishing, "v3"), TWO)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
    assert annotation(new, ADMISSION_PAUSE)
    dropped = set_in(finishing, "metadata", "annotations", to=None)
    assert annotation(stored(finishing, dropped, TWO), IN_PROGRESSING)


def test_the_rollout_that_holds_a_workload_decides_while_another_takes_its_place() -> None:
    """A Rollout is renamed in the middle of blue-green: the old one is being deleted, and the new one has another
    style. Without the freeze, the new pods would go while the routes still lead to them.
    """
    plan = Strategy(blue_green=BlueGreenStrategy(steps=(Step(replicas="100%"),)))
    former = rollout("Terminating")
    former = structs.replace(former, spec=structs.replace(former.spec, strategy=plan))
    old = held()
    back = with_image(old, "v1")
    chosen = governing(back, [rollout(name="latter"), former], old)
    new = stored(old, back, TWO, chosen)
    assert spec(new, "minReadySeconds") == FREEZE_MIN_READY_SECONDS
