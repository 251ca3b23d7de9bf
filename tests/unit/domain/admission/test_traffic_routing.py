"""Admission compares a TrafficRouting with the abilities of its gateways, so that its author sees a mistake at once."""

import pytest

from controller.api.jsontree import JsonObject, changed
from controller.domain.admission.gateways import GatewayVerdict
from controller.domain.admission.traffic_routing import admit_traffic_routing
from controller.domain.availability import NotServed
from controller.domain.decision import Reference
from controller.domain.traffic.plan.header import GroupKind, ScriptHeader

MATCH = {"headers": [{"name": "gray", "value": "1"}]}
REFUSED = "spec.strategy.weight: Unsupported value: Ingress class kong (Ingress/web) cannot divide requests by weight"


def headers(reference: Reference) -> ScriptHeader | None:
    """A class that matches headers, and nothing else."""
    return ScriptHeader(can=frozenset({"header"})) if reference.class_type == "kong" else None


def lane(strategy: object, class_type: str = "kong") -> JsonObject:
    """A TrafficRouting that leads an Ingress."""
    entry = {"service": "web", "ingress": {"name": "web", "classType": class_type}}
    return {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": "lane", "namespace": "shop"},
        "spec": {"objectRef": [entry], "strategy": strategy},
    }


def test_a_share_that_the_class_cannot_divide_is_refused() -> None:
    assert admit_traffic_routing(None, lane({"weight": 20}), headers).message == REFUSED


def test_a_match_that_the_class_cannot_say_is_refused_with_its_field() -> None:
    reported = admit_traffic_routing(
        None, lane({"matches": [{"path": {"value": "/x"}}]}), headers
    ).message
    assert reported.startswith("spec.strategy.matches: Unsupported value")
    assert reported.endswith("cannot match paths")


def test_a_step_that_gateways_can_express_passes() -> None:
    verdict = admit_traffic_routing(None, lane({"matches": [MATCH]}), headers)
    assert (verdict.findings, verdict.warnings) == ((), ())


def test_a_script_that_is_not_there_yet_is_a_warning() -> None:
    verdict = admit_traffic_routing(None, lane({"weight": 20}, "later"), headers)
    assert verdict.findings == ()
    assert verdict.warnings[0].startswith("there is no script for Ingress class later")


def test_a_subset_that_no_named_destination_rule_defines_is_a_warning() -> None:
    def istio(*kinds: str) -> JsonObject:
        refs = [
            {"apiVersion": "networking.istio.io/v1", "kind": kind, "name": "web"} for kind in kinds
        ]
        entry = {"service": "web", "customNetworkRefs": refs}
        return changed(lane({"weight": 20}), ("spec", "objectRef"), [entry])

    def warned(*kinds: str) -> tuple[str, ...]:
        rule = GroupKind("networking.istio.io", "DestinationRule")

        def after(reference: Reference) -> ScriptHeader:
            return ScriptHeader(after=(rule,) if reference.kind == "VirtualService" else ())

        return admit_traffic_routing(None, istio(*kinds), after).warnings

    (text,) = warned("VirtualService")
    assert text.startswith(
        "VirtualService/web leads to the new version by a subset of Service web that a DestinationRule defines"
    )
    assert warned("VirtualService", "DestinationRule") == ()


def test_an_update_that_leaves_the_spec_as_it_is_passes() -> None:
    old = lane({"weight": 20})
    new = changed(old, ("metadata", "labels"), {"a": "b"})
    assert admit_traffic_routing(old, new, headers).findings == ()
    assert admit_traffic_routing(lane({"matches": [MATCH]}), new, headers).message == REFUSED


WRITTEN = {"written": ["Ingress.networking.k8s.io/web"]}
DESCENT = {"written": [], "descent": {"depth": 1}}


@pytest.mark.parametrize(
    ("status", "refused"),
    [(WRITTEN, True), (DESCENT, True), ({"written": []}, False), ({}, False)],
    ids=["leads", "is-being-restored", "rests", "is-new"],
)
def test_an_object_that_follows_a_shared_route_may_not_be_taken_out(
    status: JsonObject, refused: bool
) -> None:
    """Nobody would restore it."""
    old = changed(lane({"matches": [MATCH]}), ("status",), status)
    other = {"service": "web", "ingress": {"name": "shop", "classType": "kong"}}
    for entries in ([other], [{**other, "service": "shop"}], []):
        new = changed(lane({"matches": [MATCH]}), ("spec", "objectRef"), entries)
        found = admit_traffic_routing(old, new, headers).message
        assert found.startswith("spec.objectRef: Forbidden") == refused
        assert ("Ingress.networking.k8s.io/web" in found) == refused
    same = {"service": "web", "ingress": {"name": "web", "classType": "kong"}}
    more = changed(lane({"matches": [MATCH]}), ("spec", "objectRef"), [same, other])
    assert admit_traffic_routing(old, more, headers).findings == ()


@pytest.mark.parametrize("reason", ["GatewayObjectNotFound", NotServed.reason])
def test_a_reference_to_a_missing_object_may_be_corrected(reason: str) -> None:
    missing = {"type": "Stalled", "status": "True", "reason": reason}
    status = {**WRITTEN, "conditions": [missing]}
    old = changed(lane({"matches": [MATCH]}), ("status",), status)
    new = changed(lane({"matches": [MATCH]}), ("spec", "objectRef"), [])
    assert admit_traffic_routing(old, new, headers).findings == ()


def test_an_earlier_spec_that_cannot_be_read_names_no_object() -> None:
    old = changed(lane(1), ("status",), DESCENT)
    assert admit_traffic_routing(old, lane({"matches": [MATCH]}), headers).findings == ()


def test_an_object_under_deletion_passes() -> None:
    going = changed(lane({"weight": 20}), ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z")
    assert admit_traffic_routing(None, going, headers).findings == ()


@pytest.mark.parametrize("strategy", [{"weight": "a"}, 1])
def test_violations_of_the_schema_are_left_to_the_schema(strategy: object) -> None:
    assert admit_traffic_routing(None, lane(strategy), headers).findings == ()


def test_a_script_of_the_namespace_is_held_against_its_rules_and_its_header() -> None:
    def own(**script: str) -> JsonObject:
        reference = {"apiVersion": "a.io/v1", "kind": "Lane", "name": "web", "scriptRef": script}
        entry = {"service": "web", "customNetworkRefs": [reference]}
        return changed(lane({"weight": 20}), ("spec", "objectRef"), [entry])

    path = "spec.objectRef[0].customNetworkRefs[0].scriptRef"
    reported = admit_traffic_routing(None, own(name="scripts"), headers)
    assert [finding.path for finding in reported.findings] == [f"{path}.serviceAccountName"]
    sound = own(name="scripts", serviceAccountName="router")
    assert admit_traffic_routing(None, sound, headers) == GatewayVerdict()
    matching = ScriptHeader(can=frozenset({"header"}))
    assert "cannot divide" in admit_traffic_routing(None, sound, lambda _: matching).message


def test_an_expression_that_the_gateway_cannot_compile_is_refused_with_its_field() -> None:
    match = {"path": {"type": "RegularExpression", "value": r"(a)\1"}}
    reported = admit_traffic_routing(
        None, lane({"matches": [match]}), lambda _: ScriptHeader(regex="re2")
    ).message
    assert reported.startswith("spec.strategy.matches[0].path.value: Invalid value")
    assert r"\1 is a back reference" in reported
