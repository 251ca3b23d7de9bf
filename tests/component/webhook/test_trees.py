"""The objects of reviews as rules read them."""

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.webhook.trees import MOST_VALUES, TooManyValues, convertible, tree

LIMITS: JsonObject = {"f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}}


def entry(manager: str, fields: object) -> JsonObject:
    """An entry of managedFields."""
    return {"manager": manager, "operation": "Update", "fieldsV1": fields}


def read(*entries: object) -> JsonObject | None:
    """An object with these managedFields, as rules read it."""
    obj = {"metadata": {"name": "web", "managedFields": entries}, "spec": {"replicas": 1}}
    return tree(msgspec.Raw(msgspec.json.encode(obj)))


def test_only_the_owners_of_rolling_update_limits_are_read_from_managed_fields() -> None:
    seen = read(
        entry("kubectl", {"f:spec": {"f:replicas": {}, "f:template": {}}}),
        entry("moonshift", {"f:spec": {"f:minReadySeconds": {}, **LIMITS}}),
        entry("kcm", {"f:status": {".": {}}}),
    )
    kept = {"manager": "moonshift", "fieldsV1": {"f:spec": LIMITS}}
    metadata = {"name": "web", "managedFields": [kept]}
    assert seen == {"metadata": metadata, "spec": {"replicas": 1}}


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (entry("kubectl", {"f:spec": 7}),),
        ("x",),
        tuple(entry("moonshift", {"f:spec": LIMITS}) for _ in range(MOST_VALUES // 3)),
    ],
)
def test_managed_fields_that_cannot_be_read_are_left_out(entries: tuple[object, ...]) -> None:
    assert read(*entries) == {"metadata": {"name": "web"}, "spec": {"replicas": 1}}


def large(**more: object) -> msgspec.Raw:
    """A Rollout with almost as many values in its spec as admission accepts."""
    metadata = {"name": "web", **more}
    spec = {"strategy": [1] * (MOST_VALUES - 100)}
    obj = {"apiVersion": "v1", "kind": "Rollout", "metadata": metadata, "spec": spec}
    return msgspec.Raw(msgspec.json.encode({**obj, "status": {"visits": [1] * 90}}))


def test_a_rollout_that_admission_accepts_can_be_converted_whoever_manages_its_fields() -> None:
    fields = entry("kubectl", {f"f:{number}": {} for number in range(1000)})
    raw = large(managedFields=[fields])
    assert tree(raw) is not None
    assert convertible(raw)["kind"] == "Rollout"


def test_a_rollout_is_not_converted_if_the_read_parts_have_too_many_values() -> None:
    with pytest.raises(TooManyValues):
        convertible(large(annotations={str(number): "" for number in range(200)}))
