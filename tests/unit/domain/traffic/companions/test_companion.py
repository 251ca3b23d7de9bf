"""Objects made beside a gateway object: their owner, and whether they still have the content that was written."""

import json
from typing import Any

from controller.api import names
from controller.api.meta import ObjectMeta, OwnerReference
from controller.domain.decision import Reference
from controller.domain.traffic.companions.companion import (
    CompanionObject,
    all_exist,
    companion_body,
    is_companion_for,
    place_of,
    place_of_companion,
    read_companion,
    written_sum,
)

INGRESS = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary")
WANTED: Any = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "web-canary", "namespace": "demo", "annotations": {"weight": "20"}},
    "spec": {"rules": [{"host": "h"}]},
}


def body(live: CompanionObject | None = None, **changes: Any) -> dict[str, Any]:
    written = companion_body(
        {**WANTED, **changes}, live, rollout="web", uid="u1", beside=place_of(INGRESS)
    )
    found: dict[str, Any] = json.loads(written)
    return found


def seen(obj: Any) -> CompanionObject:
    found = read_companion(json.dumps(obj).encode())
    assert found is not None
    return found


def meta(obj: Any) -> ObjectMeta:
    return ObjectMeta(labels=obj["metadata"]["labels"], annotations=obj["metadata"]["annotations"])


def test_a_written_companion_is_recognised() -> None:
    written = body()
    made = seen(written)
    assert (made.identity, made.whole, made.leaving) == ("Ingress/web-canary", True, False)
    assert (made.beside, made.written) == (place_of(INGRESS), written_sum(WANTED))
    assert place_of_companion(meta(written)) == place_of(INGRESS)
    assert is_companion_for(meta(written), "u1")
    assert not is_companion_for(meta(written), "u2")
    assert not is_companion_for(meta(written), "")


def test_an_object_the_original_controller_made_is_the_rollouts_too() -> None:
    owned = ObjectMeta(owner_references=(OwnerReference(uid="u1"),))
    assert is_companion_for(owned, "u1")
    assert place_of_companion(owned) == ""
    assert not seen(WANTED).whole


def test_foreign_additions_are_no_change_and_foreign_removals_are_one() -> None:
    live = body()
    live["metadata"]["annotations"]["cert/x"] = "1"
    live["spec"]["rules"][0]["defaulted"] = True
    assert seen(live).whole
    live["metadata"]["annotations"]["weight"] = "100"
    assert not seen(live).whole


def test_a_new_version_keeps_additions_of_others_and_drops_ours() -> None:
    live = body()
    live["metadata"] |= {"uid": "i1", "resourceVersion": "7", "finalizers": ["f"]}
    live["metadata"]["annotations"]["cert/x"] = "1"
    live["status"] = {"ip": "1"}
    after = body(seen(live), metadata={"name": "web-canary", "annotations": {"header": "a"}})
    assert after["metadata"]["resourceVersion"] == "7"
    assert after["metadata"]["finalizers"] == ["f"]
    assert after["status"] == {"ip": "1"}
    annotations = after["metadata"]["annotations"]
    assert {"cert/x", "header", names.COMPANION} == set(annotations)


def test_a_damaged_record_is_no_record() -> None:
    live = body()
    record = json.loads(live["metadata"]["annotations"][names.COMPANION])
    for text in ("{", json.dumps({**record, "packed": "!"}), json.dumps({**record, "desired": ""})):
        live["metadata"]["annotations"][names.COMPANION] = text
        made = seen(live)
        assert (made.whole, made.written) == (False, "")
        again = body(made)
        assert again["metadata"]["labels"] == {names.ROLLOUT_UID: "u1"}
    assert read_companion(b"[") is None


def test_objects_stand_when_all_are_there_and_whole() -> None:
    made, sums = seen(body()), {"Ingress/web-canary": written_sum(WANTED)}
    assert all_exist(sums, (made,))
    assert not all_exist(sums, ())
    assert not all_exist({}, (made,))
    changed = body()
    changed["spec"] = {}
    assert not all_exist(sums, (seen(changed),))
    leaving = body()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert all_exist({}, (seen(leaving),))
    bare = {**WANTED, "metadata": {"name": "n"}}
    assert json.loads(
        companion_body(bare, seen({"kind": "Ingress"}), rollout="", uid="", beside="")
    )
