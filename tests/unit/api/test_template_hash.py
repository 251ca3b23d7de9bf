"""The identity of a pod template, whatever stands in its place."""

import msgspec
import pytest

from controller.api.podsets import ControllerRevision, slimmed
from controller.api.workloads import template_hash


@pytest.mark.parametrize(
    "template",
    ["null", "[]", '"text"', '{"metadata": [1]}', '{"metadata": {"labels": [1]}}'],
)
def test_a_revision_of_somebody_elses_controller_holds_anything(template: str) -> None:
    body = f'{{"metadata": {{"name": "a"}}, "data": {{"spec": {{"template": {template}}}}}}}'
    found = slimmed(msgspec.json.decode(body, type=ControllerRevision))
    assert found.metadata.name == "a"
    assert found.template_hash


def test_a_template_is_the_same_with_and_without_the_label_of_its_revision() -> None:
    labelled = b'{"$patch":"replace","metadata":{"labels":{"a":"b","pod-template-hash":"x"}}}'
    assert template_hash(labelled) == template_hash(b'{"metadata":{"labels":{"a":"b"}}}')
    assert template_hash(labelled) != template_hash(b'{"metadata":{"labels":{"a":"c"}}}')
