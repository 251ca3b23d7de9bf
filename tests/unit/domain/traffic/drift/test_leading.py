from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from controller.api.names import DRIFT
from controller.domain.decision import Refusal, RestoreRoutes, RoutePlan
from controller.domain.traffic.companions.companion import CompanionObject
from controller.domain.traffic.drift.leading import (
    Stored,
    corrections,
    depth_of,
    follows,
    is_led,
    refusal_to_lead,
    stored_how,
)
from controller.domain.traffic.drift.object_state import LEAVE_CHANGES, ObjectState
from controller.domain.traffic.drift.policy import PutBacks
from controller.domain.traffic.original.record import RouteRecord
from controller.domain.traffic.tree import Json, Tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = RoutePlan("plan", "shop", "web", "release", ())
ROUTE = "HTTPRoute shop/web"
RECORD = RouteRecord("release", "web", "plan", "", "", "", depth=2, namespace="shop")


def object_state(
    record: RouteRecord | None = RECORD,
    *,
    in_use: bool = False,
    touched: bool = False,
    ambiguous: bool = False,
    held: bool = False,
) -> ObjectState:
    live: Tree = {"metadata": {"annotations": {DRIFT: LEAVE_CHANGES} if held else {}}}
    return ObjectState(live, {}, record, in_use, touched, ambiguous=ambiguous)


def reason(found: Refusal | None) -> str:
    return found.reason if found is not None else ""


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (object_state(), ""),
        (object_state(None), ""),
        (object_state(touched=True), ""),
        (object_state(touched=True, held=True), "RouteHeld"),
        (object_state(ambiguous=True), "AmbiguousChange"),
        (object_state(replace(RECORD, rollout="other")), "GatewayObjectInUse"),
    ],
)
def test_an_object_is_routed_unless_another_writer_has_a_part_in_it(
    found: ObjectState, expected: str
) -> None:
    assert reason(refusal_to_lead(found, PLAN, ROUTE)) == expected


def test_an_object_follows_the_plan_that_its_record_names() -> None:
    assert follows(object_state(), (), PLAN)
    assert not follows(object_state(None), (), PLAN)
    assert not follows(object_state(touched=True), (), PLAN)


def test_a_write_that_puts_nothing_back_keeps_the_last_corrections() -> None:
    before = replace(RECORD, corrected=("spec.http",), corrected_at=NOW)
    assert corrections(object_state(before), (), NOW) == PutBacks(("spec.http",), NOW)
    assert corrections(object_state(None), (), NOW) == PutBacks()


def test_a_changed_companion_object_counts_from_its_own_change() -> None:
    """The owner changed the gateway object a year ago; only the change of the companion object counts."""
    name, yesterday = "Ingress/web-canary", NOW - timedelta(days=1)
    record = replace(
        RECORD,
        objects={name: "sum"},
        corrected=(name,),
        corrected_at=yesterday,
        corrected_before=yesterday - timedelta(seconds=5),
    )
    last_year: Json = {"manager": "helm", "time": "2025-01-01T00:00:00Z"}
    owned = replace(object_state(record), live={"metadata": {"managedFields": [last_year]}})
    just_now: Json = {"manager": "kubectl", "time": "2026-01-01T00:00:00Z"}
    changed = CompanionObject(
        "Ingress", "web-canary", "uid", {"metadata": {"managedFields": [just_now]}}
    )
    for companions in ((changed,), ()):
        assert corrections(owned, companions, NOW) == PutBacks((name,), NOW, yesterday)


ORIGINAL: Tree = {"spec": {"weight": 1}}
SENT: Tree = {"spec": {"weight": 2}}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (SENT, Stored.AS_SENT),
        ({"spec": {"weight": 3}}, Stored.NORMALISED),
        (ORIGINAL, Stored.DROPPED),
    ],
)
def test_the_answer_to_a_write_shows_the_kept_fields(kept: Tree, expected: Stored) -> None:
    assert stored_how(ORIGINAL, SENT, kept) is expected


def test_only_the_rollout_that_leads_an_object_restores_it() -> None:
    ours = RestoreRoutes("shop", (), "release", rollout="web")
    theirs = RestoreRoutes("shop", (), "release", rollout="other")
    assert is_led(object_state(in_use=True), ours, ROUTE)
    assert not is_led(object_state(in_use=True), theirs, ROUTE)
    assert not is_led(object_state(), ours, ROUTE)


def test_the_record_says_the_depth() -> None:
    assert (depth_of(object_state()), depth_of(object_state(None)), depth_of(None)) == (2, 0, 0)
