"""The rules of `scriptRef`, for Rollouts of both versions and TrafficRoutings."""

import pytest

from controller.api.conversion import Unconvertible, converted, to_v1alpha1
from controller.api.jsontree import JsonObject, child
from controller.api.names import V1BETA1
from controller.api.plan_hash import plan_hash
from controller.api.validation.own_scripts import check_own_scripts
from tests.unit.api.test_validation import EXTRA, beta, canary, texts

SCRIPT: JsonObject = {"name": "scripts", "serviceAccountName": "router"}
LANE: JsonObject = {"apiVersion": "a.io/v1", "kind": "Lane", "name": "web"}
PLACE = "spec.strategy.canary.trafficRoutings[0].customNetworkRefs[0]"


def rollout(reference: JsonObject) -> JsonObject:
    """A Rollout that leads traffic with one object."""
    entry = {"service": "web", "customNetworkRefs": [reference]}
    return beta(canary({"replicas": 1, "traffic": "5%"}, trafficRoutings=[entry], **EXTRA))


@pytest.mark.parametrize("script", [SCRIPT, {**SCRIPT, "key": "lane.lua"}])
def test_a_script_of_the_namespace_is_named_with_its_account(script: JsonObject) -> None:
    assert texts(rollout({**LANE, "scriptRef": script})) == []


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (
            {"scriptRef": SCRIPT, "script": "packaged"},
            ".script: Forbidden: script chooses among the scripts of all namespaces: leave it out beside scriptRef",
        ),
        (
            {"scriptRef": SCRIPT, "apiVersion": "v1", "kind": "Secret"},
            ".scriptRef: Forbidden: a Secret leads no traffic and is never read",
        ),
        (
            {"scriptRef": {"name": "scripts"}},
            ".scriptRef.serviceAccountName: Required value: names the ServiceAccount with whose rights the script acts",
        ),
        (
            {"scriptRef": {"serviceAccountName": "router"}},
            ".scriptRef.name: Required value: names the ConfigMap with the script",
        ),
        (
            {"scriptRef": {**SCRIPT, "serviceAccountName": "kube-system:root"}},
            ".scriptRef.serviceAccountName: Invalid value: 'kube-system:root' is no name of an object",
        ),
        (
            {"scriptRef": {**SCRIPT, "name": "../secrets"}},
            ".scriptRef.name: Invalid value: '../secrets' is no name of an object",
        ),
        (
            {"scriptRef": {**SCRIPT, "key": "a/b"}},
            ".scriptRef.key: Invalid value: 'a/b' is no key of a ConfigMap",
        ),
    ],
)
def test_an_impossible_reference_is_refused_with_its_field(
    reference: JsonObject, expected: str
) -> None:
    assert texts(rollout({**LANE, **reference})) == [PLACE + expected]


def test_a_key_that_is_no_text_is_refused() -> None:
    entry: JsonObject = {"customNetworkRefs": [{**LANE, "scriptRef": {**SCRIPT, "key": 1}}]}
    (found,) = check_own_scripts(entry, "e")
    assert found.path == "e.customNetworkRefs[0].scriptRef.key"


def test_v1alpha1_keeps_the_namespaces_script() -> None:
    written = rollout({**LANE, "scriptRef": SCRIPT})
    there = to_v1alpha1(written)
    back = converted(there, V1BETA1)
    assert not isinstance(back, Unconvertible)
    assert back["spec"] == written["spec"]


def test_a_namespaces_script_belongs_to_the_plan_in_any_order_of_fields() -> None:
    turned: JsonObject = dict(reversed(SCRIPT.items()))
    plain, own, again = (
        plan_hash(child(rollout({**LANE, **script}), "spec", "strategy"))
        for script in ({}, {"scriptRef": SCRIPT}, {"scriptRef": turned})
    )
    assert plain != own == again
