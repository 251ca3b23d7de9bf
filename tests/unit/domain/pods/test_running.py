"""The running revisions of a workload, read from objects of every kind."""

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.podsets import ControllerRevision, PodSet, PodSetStatus, slimmed
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import template_hash
from controller.domain.observation import RevisionSeen, WorkloadSeen
from controller.domain.pods.marks import OwnersRecord
from controller.domain.pods.running import (
    min_ready_seconds,
    present_revision,
    running_revisions,
    size_of,
    stable_of_set,
    template_of,
)
from tests.unit.builders import make_pod, make_pod_set, template

OLD, NEW = RevisionSeen("web-a", "hash-a"), RevisionSeen("web-b", "hash-b")


def seen(status: PodSetStatus | None = None, *pods: str, generation: int = 1) -> WorkloadSeen:
    """A StatefulSet of template `hash-b`, with pods of these revisions."""
    pod_set = make_pod_set()
    return WorkloadSeen(
        object=structs.replace(
            pod_set,
            metadata=structs.replace(pod_set.metadata, generation=generation),
            status=status or PodSetStatus(),
        ),
        kind=WorkloadKind.STATEFUL_SET,
        template_hash="hash-b",
        revisions=(OLD, NEW),
        pods=tuple(make_pod(f"web-{at}", revision=name) for at, name in enumerate(pods)),
    )


def test_a_set_that_says_nothing_of_its_size_has_one_pod() -> None:
    bare = make_pod_set()
    bare = structs.replace(bare, spec=structs.replace(bare.spec, replicas=None))
    assert size_of(structs.replace(seen(), object=bare)) == 1


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"minReadySeconds": 5}, 5),
        ({"updateStrategy": {"rollingUpdate": {"minReadySeconds": 7}}}, 7),
        ({"updateStrategy": {"rollingUpdate": {}}}, 0),
        ({}, 0),
    ],
)
def test_min_ready_seconds_are_read_where_the_kind_has_them(
    spec: dict[str, object], wanted: int
) -> None:
    tree = msgspec.json.encode({"kind": "StatefulSet", "spec": spec})
    assert min_ready_seconds(msgspec.json.decode(tree, type=PodSet)) == wanted


def test_before_its_controller_has_caught_up_the_template_gives_the_revision() -> None:
    stale = PodSetStatus(observed_generation=1, update_revision="web-a", current_revision="web-a")
    assert present_revision(seen(stale, generation=2)) == "web-b"
    assert present_revision(seen(stale)) == "web-a"
    assert present_revision(structs.replace(seen(), revisions=(OLD,))) == ""


def test_revisions_come_in_their_order_and_unknown_ones_last() -> None:
    found = running_revisions(seen(None, "web-x", "web-b", "web-a", "web-a"))
    assert [(run.name, run.size) for run in found] == [("web-a", 2), ("web-b", 1), ("web-x", 1)]
    assert [run.template_hash for run in found] == ["hash-a", "hash-b", ""]


@pytest.mark.parametrize(
    ("record", "status", "stable"),
    [
        (OwnersRecord(stable_revision="web-a"), PodSetStatus(), ("web-a", "hash-a")),
        (OwnersRecord(stable_template="hash-a"), PodSetStatus(), ("web-a", "hash-a")),
        (None, PodSetStatus(current_revision="web-a"), ("web-a", "hash-a")),
        (OwnersRecord(stable_revision="web-z", stable_template="z"), None, ("web-z", "z")),
        (None, None, ("web-a", "hash-a")),
    ],
)
def test_the_previous_revision_is_known_from_the_record_the_status_or_the_pods(
    record: OwnersRecord | None, status: PodSetStatus | None, stable: tuple[str, str]
) -> None:
    assert stable_of_set(seen(status, "web-a", "web-b"), record) == stable


def test_a_set_without_pods_and_without_a_record_has_no_stable_revision() -> None:
    assert stable_of_set(seen(), None) == ("", "")
    assert template_of(seen(), "") == ""


def test_only_the_identity_of_its_template_is_kept_of_a_controller_revision() -> None:
    data = {"spec": {"template": {**msgspec.json.decode(template()), "$patch": "replace"}}}
    tree = {
        "metadata": {"name": "web-a", "annotations": {"big": "thing"}},
        "revision": 3,
        "data": data,
    }
    found = slimmed(msgspec.json.decode(msgspec.json.encode(tree), type=ControllerRevision))
    assert found == ControllerRevision(
        metadata=ObjectMeta(name="web-a"),
        revision=3,
        template_hash=template_hash(bytes(template())),
    )
