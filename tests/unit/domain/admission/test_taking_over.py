"""A workload of the original in our form: the owner's values are found wherever the original kept them."""

import json
from typing import Any

import msgspec
import pytest

from controller.api import names
from controller.api.jsontree import JsonObject, child
from controller.api.workload_kinds import WorkloadKind
from controller.domain.admission.taking_over import Taking, taken_over
from controller.domain.pods.originals import originals_values, partition_strategy

TAKING = Taking("web", "r1", "stable", "template")


def workload(
    spec: JsonObject, annotations: dict[str, str] | None = None, **labels: str
) -> JsonObject:
    """A workload that the original holds."""
    meta: Any = {"name": "web", "annotations": annotations or {}, "labels": labels}
    return {"metadata": meta, "spec": spec}


def record_in(obj: JsonObject) -> JsonObject:
    """The owner's values that our record has."""
    found: JsonObject = json.loads(
        str(child(obj, "metadata", "annotations")[names.ORIGINAL_STRATEGY])
    )
    return found


@pytest.mark.parametrize(
    ("strategy", "annotation", "owners"),
    [
        (
            {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 2}},
            "OnDelete",  # the original overwrote the kept type
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}},
        ),
        ({"type": "OnDelete"}, "OnDelete", {"type": "OnDelete"}),
        ({"type": "OnDelete"}, "", {"type": "RollingUpdate"}),
    ],
)
def test_the_type_of_a_daemon_sets_strategy_is_its_owners(
    strategy: JsonObject, annotation: str, owners: JsonObject
) -> None:
    kept = {names.ORIGINALS_DAEMON_STRATEGY: annotation} if annotation else {}
    taken = taken_over(
        workload({"updateStrategy": strategy}, kept), WorkloadKind.DAEMON_SET, TAKING
    )
    assert record_in(taken)["strategy"] == owners
    assert child(taken, "spec", "updateStrategy") == strategy


def test_a_blue_green_clonesets_record_has_the_owners_limits() -> None:
    live: JsonObject = {"maxSurge": "50%", "maxUnavailable": 0, "paused": False, "partition": 0}
    kept = {names.ORIGINAL_STRATEGY: '{"maxUnavailable":"20%","minReadySeconds":4}'}
    obj = workload({"updateStrategy": live, "minReadySeconds": 2147483646}, kept)
    taken = taken_over(obj, WorkloadKind.CLONE_SET, TAKING)
    record = record_in(taken)
    assert record["strategy"] == {"paused": False, "maxUnavailable": "20%"}
    assert (record["minReadySeconds"], record["stableRevision"]) == (4, "stable")
    assert child(taken, "spec") == child(obj, "spec")


def test_a_set_that_the_original_has_not_moved_waits_for_our_first_move() -> None:
    obj = workload({"updateStrategy": {"partition": "100%"}})
    taken = taken_over(obj, WorkloadKind.CLONE_SET, TAKING)
    assert child(taken, "metadata", "annotations")[names.ADMISSION_PAUSE] == "r1"
    assert child(taken, "metadata", "labels")[names.WORKLOAD_TYPE] == "cloneset"


def test_a_set_without_a_known_stable_revision_has_none_in_its_record() -> None:
    obj = workload({"updateStrategy": {"partition": 3}})
    taken = taken_over(obj, WorkloadKind.CLONE_SET, Taking("web", "r1"))
    assert not {"stableRevision", "stableTemplate"} & record_in(taken).keys()


def test_the_type_label_that_its_owner_wrote_stays() -> None:
    obj = workload({}, None, **{names.WORKLOAD_TYPE: "StatefulSet"})
    taken = taken_over(obj, WorkloadKind.STATEFUL_SET, TAKING)
    assert child(taken, "metadata", "labels")[names.WORKLOAD_TYPE] == "StatefulSet"


def test_a_deployment_without_a_deadline_has_none_in_its_record() -> None:
    taken = taken_over(workload({"paused": True}), WorkloadKind.DEPLOYMENT, Taking("web", "r1"))
    assert "progressDeadlineSeconds" not in record_in(taken)
    assert names.STABLE_REVISION not in child(taken, "metadata", "labels")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"minReadySeconds": "x"}'])
def test_an_annotation_that_cannot_be_read_keeps_nothing(text: str) -> None:
    assert originals_values(text) is None


def test_a_partition_strategy_that_cannot_be_read_is_the_apis_default() -> None:
    assert partition_strategy("{") == {"type": "RollingUpdate"}
    assert partition_strategy("{}") == {"type": "RollingUpdate"}
    assert msgspec.json.encode(partition_strategy('{"rollingUpdate":{"maxSurge":1}}'))
