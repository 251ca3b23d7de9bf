"""A ControllerRevision keeps facts of a release only if its label and its content agree."""

import msgspec
import pytest

from controller.api.meta import ObjectMeta
from controller.api.names import KEPT_FOR
from controller.api.podsets import ControllerRevision, KeptFacts, kept_facts


def revision(content: object, label: str = "uid-1") -> ControllerRevision:
    data = {"kept": content, "spec": {"template": {}}}
    body = {"metadata": {"name": "web-kept-1", "labels": {KEPT_FOR: label}}, "data": data}
    found = msgspec.json.decode(msgspec.json.encode(body), type=ControllerRevision)
    assert isinstance(found.metadata, ObjectMeta)
    return found


def test_the_facts_of_its_own_workload_count() -> None:
    facts = KeptFacts(workload_uid="uid-1", stable_revision="abc")
    assert kept_facts(revision(facts)) == facts


@pytest.mark.parametrize(
    "content", [7, "text", [], {"workloadUid": 7}, {"workloadUid": "uid-2"}, {}]
)
def test_other_content_keeps_nothing(content: object) -> None:
    assert kept_facts(revision(content)) is None


def test_a_revision_without_our_label_keeps_nothing() -> None:
    assert kept_facts(revision(KeptFacts(workload_uid="uid-1"), label="")) is None
