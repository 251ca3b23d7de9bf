"""The plan's hash follows the original's formula."""

import hashlib

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.api.plan_hash import plan_hash, plan_hash_of
from controller.api.rollout import Strategy


def mapped(text: str) -> str:
    """The formula's last two steps, spelled out."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return "".join("bcdfghjklmnpqrstvwxz2456789"[ord(character) % 27] for character in digest)


FULL: JsonObject = {
    "canary": {
        "failureThreshold": "20%",
        "disableGenerateCanaryService": True,
        "enableExtraWorkloadForCanary": True,
        "trafficRoutingRef": "shared",
        "patchPodTemplateMetadata": {"labels": {"b": "1", "a": "<&>"}, "annotations": {}},
        "steps": [
            {
                "pause": {"duration": 5},
                "replicas": "20%",
                "traffic": "20%",
                "requestHeaderModifier": {"remove": ["x"], "set": [{"value": "v", "name": "n"}]},
                "matches": [
                    {
                        "queryParams": [{"name": "q", "value": "1", "type": "Exact"}],
                        "headers": [{"value": "v", "name": "h", "type": "Exact"}],
                        "path": {"value": "/", "type": "PathPrefix"},
                    }
                ],
            },
            {"replicas": 2},
        ],
        "trafficRoutings": [
            {
                "customNetworkRefs": [{"name": "n", "kind": "K", "apiVersion": "x/v1"}],
                "gateway": {"httpRouteName": "r"},
                "ingress": {"name": "i", "classType": "nginx"},
                "gracePeriodSeconds": 3,
                "service": "web",
            }
        ],
    }
}

PRINTED = (
    '{"steps":[{"traffic":"20%","requestHeaderModifier":{"set":[{"name":"n","value":"v"}],"remove":["x"]},'
    '"matches":[{"path":{"type":"PathPrefix","value":"/"},"headers":[{"type":"Exact","name":"h","value":"v"}],'
    '"queryParams":[{"type":"Exact","name":"q","value":"1"}]}],"replicas":"20%","pause":{}},'
    '{"replicas":2,"pause":{}}],"trafficRoutings":[{"service":"web","gracePeriodSeconds":3,'
    '"ingress":{"classType":"nginx","name":"i"},"gateway":{"httpRouteName":"r"},'
    '"customNetworkRefs":[{"apiVersion":"x/v1","kind":"K","name":"n"}]}],'
    '"patchPodTemplateMetadata":{"labels":{"a":"\\u003c\\u0026\\u003e","b":"1"}},'
    '"enableExtraWorkloadForCanary":true,"trafficRoutingRef":"shared","disableGenerateCanaryService":true}'
)


def test_the_plan_hash_follows_its_formula() -> None:
    assert plan_hash(FULL) == mapped(PRINTED)
    assert len(plan_hash(FULL)) == 64


def test_a_decoded_strategy_has_the_same_hash() -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(FULL), type=Strategy)
    assert plan_hash_of(decoded) == plan_hash(FULL)


def test_blue_green_has_fewer_fields() -> None:
    plan = {
        "steps": [{"replicas": 1}],
        "failureThreshold": 1,
        "disableGenerateCanaryService": False,
    }
    assert plan_hash({"blueGreen": plan}) == mapped('{"steps":[{"replicas":1,"pause":{}}]}')


@pytest.mark.parametrize("strategy", [{}, {"paused": True}, {"canary": None}])
def test_without_a_plan_there_is_no_hash(strategy: JsonObject) -> None:
    assert plan_hash(strategy) == ""


def edited(step: JsonObject) -> str:
    """Hash of a plan with one step and one reference."""
    return plan_hash({"canary": {"steps": [step]}})


def test_pauses_do_not_count_and_everything_else_does() -> None:
    plain = edited({"replicas": 1})
    assert plain == edited({"replicas": 1, "pause": {"duration": 3}})
    assert plain != edited({"replicas": 2})
    assert plain != edited({"replicas": 1, "traffic": "1%"})
    assert edited({"replicas": 1, "matches": [{"method": "GET"}]}) != edited(
        {"replicas": 1, "matches": [{}]}
    )


def test_a_grace_period_of_zero_is_left_out_as_go_does() -> None:
    def routed(**entry: object) -> str:
        return plan_hash({"canary": {"trafficRoutings": [{"service": "a", **entry}]}})

    assert routed() == routed(gracePeriodSeconds=3) != routed(gracePeriodSeconds=0)
    assert routed(gateway={"params": {"b": 1, "a": 2}}) == routed(
        gateway={"params": {"a": 2, "b": 1}}
    )
    assert routed(gateway={"params": {"a": 2}}) != routed(gateway={})
