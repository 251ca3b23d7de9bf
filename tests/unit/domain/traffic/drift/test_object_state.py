import base64
import json
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given

from controller.api import names
from controller.domain.decision import Reference, Refusal
from controller.domain.observation import RouteAbsent, RoutePresent, RouteState, RouteUnreadable
from controller.domain.traffic.drift import object_state
from controller.domain.traffic.drift.object_state import (
    ObjectState,
    other_user,
    read_object_state,
    see_route,
)
from controller.domain.traffic.original.content import with_content, write_original
from controller.domain.traffic.original.record import read_state, unpack, write_state
from controller.domain.traffic.tree import MOST_VALUES, Json, same
from tests.unit.domain.traffic.json_trees import contents

VS = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")
ORIGINAL: dict[str, Any] = {"spec": {"hosts": ["h"], "http": [{"to": "web"}]}, "labels": {"a": "b"}}
DESIRED: dict[str, Any] = {"spec": {"hosts": ["h"], "http": [{"to": "web", "weight": 80}]}}


def state(original: str, desired: dict[str, Any] | None = None) -> str:
    return write_state(
        release="r1",
        rollout="web",
        plan="p1",
        depth=1,
        original=original,
        desired=DESIRED if desired is None else desired,
    )


def raw(content: dict[str, Any], ours: dict[str, str]) -> bytes:
    return with_content({"kind": "VirtualService", "metadata": {"name": "web"}}, content, ours)


def in_use(content: dict[str, Any]) -> bytes:
    text = write_original(ORIGINAL)
    return raw(content, {names.ORIGINAL_SPEC: text, names.ROUTE_STATE: state(text)})


def standing(found: ObjectState | Refusal) -> ObjectState:
    assert isinstance(found, ObjectState)
    return found


def refusal(found: ObjectState | Refusal) -> Refusal:
    assert isinstance(found, Refusal)
    return found


# --- the record -------------------------------------------------------------------------------------


@given(contents, contents)
def test_our_write_is_read_back_from_the_record(
    original: dict[str, Any], desired: dict[str, Any]
) -> None:
    text = write_original(original)
    record = read_state(state(text, desired))
    assert record is not None
    assert (record.release, record.rollout, record.plan, record.depth) == ("r1", "web", "p1", 1)
    assert same(unpack(record, text), desired)


def test_the_record_holds_little_more_than_the_difference() -> None:
    rules: list[Json] = [
        {"match": f"/{n * 7919 % 1000}", "to": f"service-{n * 104729 % 997}"} for n in range(200)
    ]
    text = write_original({"spec": {"http": rules}})
    wanted: Any = {"spec": {"http": [{"to": "canary", "weight": 5}, *rules]}}
    assert len(state(text, wanted)) < 700 < len(text) // 10


def test_a_record_of_another_original_is_not_read() -> None:
    record = read_state(state("{}"))
    assert record is not None
    assert unpack(record, "{} ") is None


@pytest.mark.parametrize(
    "packed",
    [
        "not base64!",
        base64.b64encode(b"not zlib").decode(),
        base64.b64encode(zlib.compress(b"{}")).decode(),
        base64.b64encode(zlib.compress(b"[")).decode(),
    ],
)
def test_a_damaged_record_is_not_read(packed: str) -> None:
    record = read_state(state("{}"))
    assert record is not None
    assert unpack(msgspec.structs.replace(record, packed=packed), "{}") is None


def test_a_malformed_record_counts_as_no_record() -> None:
    assert read_state("{}") is None
    assert read_state("\ud800") is None


# --- the state of an object ---------------------------------------------------------------------------


def test_an_object_nobody_uses_is_its_own_original() -> None:
    found = standing(read_object_state(raw(ORIGINAL, {}), "VS"))
    assert (found.original, found.record, found.in_use) == (ORIGINAL, None, False)
    assert not found.follows("p1")


def test_an_object_as_we_wrote_it_follows_its_plan_and_no_other() -> None:
    found = standing(read_object_state(in_use(DESIRED), "VS"))
    assert found.follows("p1")
    assert not found.follows("p2")
    assert found.original == ORIGINAL


def test_a_foreign_change_elsewhere_is_folded_into_the_original() -> None:
    found = standing(read_object_state(in_use({**DESIRED, "annotations": {"x": "y"}}), "VS"))
    assert (found.touched, found.edited) == (False, True)
    assert found.original == {**ORIGINAL, "annotations": {"x": "y"}}
    assert not found.follows("p1")


def test_a_change_over_our_part_is_seen() -> None:
    edited = {"spec": {"hosts": ["h"], "http": [{"to": "web", "weight": 1}]}}
    found = standing(read_object_state(in_use(edited), "VS"))
    assert (found.touched, found.edited, found.original) == (True, False, ORIGINAL)


def test_an_original_without_our_record_is_adopted() -> None:
    text = write_original(ORIGINAL)
    found = standing(read_object_state(raw(DESIRED, {names.ORIGINAL_SPEC: text}), "VS"))
    assert (found.original, found.record, found.in_use) == (ORIGINAL, None, True)


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param({names.ORIGINAL_SPEC: ""}, id="empty"),
        pytest.param({names.ORIGINAL_SPEC: "{"}, id="cut off"),
        pytest.param({names.ORIGINAL_SPEC: '{"labels":{"a":"b"}}'}, id="without spec"),
        pytest.param({names.ROUTE_STATE: state("{}")}, id="removed"),
        pytest.param(
            {names.ORIGINAL_SPEC: '{"spec":{}}', names.ROUTE_STATE: state("{}")}, id="exchanged"
        ),
        pytest.param({names.ORIGINAL_SPEC: '{"spec":{}}', names.ROUTE_STATE: "?"}, id="no record"),
    ],
)
def test_a_damaged_original_is_refused_with_the_way_out(ours: dict[str, str]) -> None:
    found = refusal(read_object_state(raw(DESIRED, ours), "VirtualService demo/web"))
    assert (found.reason, found.object) == ("OriginalCorrupt", "VirtualService demo/web")
    assert "by hand" in found.message


def test_an_object_that_cannot_be_read_is_refused() -> None:
    assert refusal(read_object_state(b"[]", "VS")).reason == "GatewayObjectUnreadable"


def test_one_object_follows_one_rollout() -> None:
    record = read_state(state("{}"))
    assert other_user(record, "web", "VS") is None
    assert other_user(record, "", "VS") is None
    assert other_user(None, "web", "VS") is None
    taken = other_user(record, "shop", "VS")
    assert taken is not None
    assert taken.reason == "GatewayObjectInUse"


def test_messages_name_kind_namespace_and_name() -> None:
    assert VS.name_in("demo") == "VirtualService demo/web"


# --- what a pass sees -------------------------------------------------------------------------------


def present(state: RouteState) -> RoutePresent:
    assert isinstance(state, RoutePresent)
    return state


def test_an_absent_object_is_absent() -> None:
    assert see_route(VS, None) == RouteAbsent()


def test_an_object_not_in_use_follows_no_plan() -> None:
    body = raw(ORIGINAL, {})
    assert see_route(VS, body) == RoutePresent(raw=msgspec.Raw(body))


def test_an_object_in_use_says_plan_and_release() -> None:
    seen = present(see_route(VS, in_use(DESIRED), rollout="web"))
    assert (seen.plan, seen.release, seen.in_use, seen.touched) == ("p1", "r1", True, False)


def test_an_edited_object_names_its_editor() -> None:
    body = json.loads(in_use({**DESIRED, "annotations": {"x": "y"}}))
    body["metadata"]["managedFields"] = [{"manager": "flux", "time": "1"}]
    seen = present(see_route(VS, json.dumps(body).encode()))
    assert (seen.edited, seen.touched, seen.editor) == (True, False, "flux")


def test_a_label_of_somebody_else_does_not_make_them_the_author() -> None:
    body = json.loads(in_use({**DESIRED, "spec": {name: [] for name in DESIRED["spec"]}}))
    touched: Any = {"f:spec": {f"f:{name}": {} for name in DESIRED["spec"]}}
    labelled: Any = {"f:metadata": {"f:labels": {"f:team": {}}}}
    body["metadata"]["managedFields"] = [
        {"manager": "eve", "time": "2026-01-01T00:00:01Z", "fieldsV1": touched},
        {"manager": "bob", "time": "2026-01-01T00:00:09Z", "fieldsV1": labelled},
    ]
    seen = present(see_route(VS, json.dumps(body).encode()))
    assert (seen.touched, seen.editor) == (True, "eve")


def test_touched_fields_are_reported_one_by_one() -> None:
    live = json.loads(in_use({**DESIRED, "spec": {**DESIRED["spec"], "hosts": ["x"]}}))
    live["metadata"]["annotations"][names.DRIFT] = "hold"
    live["metadata"]["managedFields"] = [{"manager": "argo", "time": "2026-01-01T00:00:00Z"}]
    seen = present(see_route(VS, json.dumps(live).encode()))
    assert (seen.touched or seen.edited) is True
    assert seen.held is True


def test_a_missing_or_changed_companion_is_reported() -> None:
    made = {
        "metadata": {"name": "web-canary", "labels": {names.ROLLOUT_UID: "u"}},
        "kind": "Ingress",
    }
    body = json.loads(in_use(DESIRED))
    record = json.loads(body["metadata"]["annotations"][names.ROUTE_STATE])
    record["objects"] = {"Ingress/web-canary": "x", "Ingress/gone": "y"}
    body["metadata"]["annotations"][names.ROUTE_STATE] = json.dumps(record)
    raw_body = json.dumps(body).encode()
    seen = present(see_route(VS, raw_body, raw_companions=(json.dumps(made).encode(),)))
    assert seen.touched
    assert seen.places == ("Ingress/gone", "Ingress/web-canary")
    assert seen.changes == (
        "Ingress/gone beside it, which is gone",
        "Ingress/web-canary beside it",
    )
    only = present(see_route(VS, raw_body, raw_companions=()))
    assert (only.editor, only.edited_at) == ("", None)
    left = see_route(VS, None, raw_companions=(json.dumps(made).encode(),))
    assert left == RouteAbsent(left=True)


def test_a_damaged_object_and_one_of_another_rollout_are_unreadable() -> None:
    damaged = see_route(VS, raw(DESIRED, {names.ORIGINAL_SPEC: "{"}))
    taken = see_route(VS, in_use(DESIRED), rollout="shop")
    assert isinstance(damaged, RouteUnreadable)
    assert damaged.reason == "OriginalCorrupt"
    assert isinstance(taken, RouteUnreadable)
    assert taken.reason == "GatewayObjectInUse"


# --- the size -----------------------------------------------------------------------------------


def test_an_object_of_too_many_values_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its annotations are compared with it in each pass, and everybody who may edit it writes them."""
    monkeypatch.setattr(object_state, "MOST_VALUES", 60)
    assert isinstance(read_object_state(in_use(DESIRED), "vs"), ObjectState)
    long: dict[str, Any] = {"spec": {"http": list(range(60))}}
    found = refusal(read_object_state(in_use(long), "vs"))
    assert "it has more than 60 values" in found.message
    free = read_object_state(raw(long, {}), "vs")
    assert standing(free).original == long


def test_a_record_that_unpacks_to_too_many_values_is_damaged() -> None:
    text = write_original(ORIGINAL)
    ours = state(text, {"spec": {"http": [0] * MOST_VALUES}})
    assert len(ours) < 2000
    live = raw(DESIRED, {names.ORIGINAL_SPEC: text, names.ROUTE_STATE: ours})
    assert "was changed" in refusal(read_object_state(live, "vs")).message
