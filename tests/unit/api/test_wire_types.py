"""The smaller kinds, decoded and encoded as clients of the original know them."""

import msgspec
import pytest

from controller.api.history import RolloutHistory
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import template_hash


def test_a_traffic_routing_is_read() -> None:
    raw = (
        b'{"metadata":{"name":"t"},"spec":{"objectRef":[{"service":"s","gracePeriodSeconds":5}],'
        b'"strategy":{"weight":20,"matches":[{"headers":[{"name":"a","value":"b"}]}]}},'
        b'"status":{"phase":"Healthy"}}'
    )
    seen = msgspec.json.decode(raw, type=TrafficRouting)
    assert seen.spec.object_ref[0].grace_period_seconds == 5
    assert seen.spec.strategy.weight == 20
    assert seen.spec.strategy.matches[0].headers[0].name == "a"
    assert seen.status.phase == "Healthy"


def test_a_history_keeps_free_form_parts() -> None:
    raw = (
        b'{"spec":{"rollout":{"rolloutID":"1","name":"r","data":{"any":[1,null]}},'
        b'"trafficRouting":{"httpRoute":{"name":"h"}}},'
        b'"status":{"phase":"completed","canarySteps":[{"canaryStepIndex":1,"pods":[{"nodeName":"n"}]}]}}'
    )
    seen = msgspec.json.decode(raw, type=RolloutHistory)
    assert seen.spec.rollout is not None
    assert seen.spec.rollout.data is not msgspec.UNSET
    assert bytes(seen.spec.rollout.data) == b'{"any":[1,null]}'
    assert seen.status.canary_steps[0].pods[0].node_name == "n"
    assert msgspec.json.decode(msgspec.json.encode(seen.spec))["rollout"]["rolloutID"] == "1"


@pytest.mark.parametrize("template", [b"", b"{}", b'{"metadata":{}}', b'{"metadata":null}'])
def test_a_template_without_labels_has_an_identity_too(template: bytes) -> None:
    assert template_hash(template) == template_hash(b'{"spec":{}}')
