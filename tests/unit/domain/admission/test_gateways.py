"""Admission checks steps against the abilities of gateways, so that their author sees the message."""

import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject
from controller.domain.admission.gateways import GatewayVerdict, validate_gateways
from controller.domain.admission.rollout import admit_rollout
from controller.domain.decision import Reference
from controller.domain.traffic.plan.header import ScriptHeader
from tests.unit.domain.admission.test_rollout import edited, raw

ROUTINGS = [{"service": "web", "ingress": {"name": "web", "classType": "kong"}}]


def headers(reference: Reference) -> ScriptHeader | None:
    """A class that matches headers, and nothing else."""
    if reference.class_type == "kong":
        return ScriptHeader(can=frozenset({"header"}))
    return None


def message_of(obj: JsonObject) -> str:
    return admit_rollout(None, obj, (), headers=headers).message


def test_a_share_is_refused_where_the_class_has_none() -> None:
    obj = raw(steps=[{"replicas": 1, "traffic": "20%"}], trafficRoutings=ROUTINGS)
    assert message_of(obj) == (
        "spec.strategy.canary.steps[0].traffic: Unsupported value: "
        "Ingress class kong (Ingress/web) cannot divide requests by weight"
    )
    assert "steps[0].weight: Unsupported value" in message_of(to_v1alpha1(obj))


def test_a_step_that_gateways_can_express_passes_and_matches_are_named() -> None:
    match = {"headers": [{"name": "a", "value": "b"}]}
    good = raw(steps=[{"replicas": 1, "matches": [match]}], trafficRoutings=ROUTINGS)
    assert admit_rollout(None, good, (), headers=headers).findings == ()
    bad = raw(
        steps=[{"replicas": 1, "matches": [{"path": {"value": "/x"}}]}], trafficRoutings=ROUTINGS
    )
    assert "steps[0].matches: Unsupported value" in message_of(bad)


BOTH = [{**ROUTINGS[0], "gateway": {"httpRouteName": "web"}}]


def test_a_match_that_only_one_of_two_gateways_can_say_is_a_warning() -> None:
    step = {"replicas": 1, "matches": [{"path": {"value": "/x"}}]}
    verdict = admit_rollout(None, raw(steps=[step], trafficRoutings=BOTH), (), headers=headers)
    assert verdict.findings == ()
    assert (
        "spec.strategy.canary.steps[0].matches: Ingress class kong (Ingress/web) cannot match paths: it sends "
        "nothing to the new version there"
    ) in verdict.warnings


def test_alternatives_that_a_gateway_can_say_are_counted_in_the_warning() -> None:
    matches = [{"path": {"value": "/x"}}, {"headers": [{"name": "a", "value": "b"}]}]
    obj = raw(steps=[{"replicas": 1, "matches": matches}], trafficRoutings=BOTH)
    verdict = admit_rollout(None, obj, (), headers=headers)
    assert verdict.findings == ()
    assert (
        "spec.strategy.canary.steps[0].matches: Ingress class kong (Ingress/web) cannot match paths: of 2 matches it "
        "sends those of 1 to the new version there, and all other requests to the stable one"
    ) in verdict.warnings


def test_a_share_that_only_one_of_two_gateways_can_divide_is_refused() -> None:
    obj = raw(steps=[{"replicas": 1, "traffic": "20%"}], trafficRoutings=BOTH)
    assert "cannot divide requests by weight" in message_of(obj)


def test_a_match_is_refused_if_a_gateway_that_cannot_match_has_one_service_for_both_revisions() -> (
    None
):
    istio = [
        {"apiVersion": "networking.istio.io/v1", "kind": kind, "name": "web"}
        for kind in ("VirtualService", "DestinationRule")
    ]
    routings = [{"service": "web", "customNetworkRefs": istio}]
    step = {"replicas": 1, "matches": [{"path": {"value": "/x"}}]}

    def rules_divide(reference: Reference) -> ScriptHeader:
        only = frozenset({"weight"}) if reference.kind == "DestinationRule" else None
        return ScriptHeader(can=only)

    obj = raw(steps=[step], trafficRoutings=routings, disableGenerateCanaryService=True)
    verdict = admit_rollout(None, obj, (), headers=rules_divide)
    assert "DestinationRule/web cannot match paths" in verdict.message


def test_blue_green_is_checked_against_gateways_too() -> None:
    plan = {"steps": [{"replicas": 1, "traffic": "0%"}], "trafficRoutings": ROUTINGS}
    obj = edited(raw(), "spec", "strategy", to={"blueGreen": plan})
    assert "spec.strategy.blueGreen.steps[0].traffic" in message_of(obj)


def test_a_script_that_is_not_there_is_a_warning() -> None:
    routings = [{"service": "web", "gateway": {"httpRouteName": "web"}}]
    obj = raw(steps=[{"replicas": 1, "traffic": "20%"}], trafficRoutings=routings)
    verdict = admit_rollout(None, obj, (), headers=headers)
    assert verdict.findings == ()
    assert verdict.warnings == (
        "there is no script for HTTPRoute/web yet: the release will wait for one",
    )


def test_all_pods_of_a_set_are_new_pods_although_an_extra_workload_is_asked_for() -> None:
    match = {"headers": [{"name": "a", "value": "b"}]}
    steps = [{"replicas": 1, "matches": [match]}, {"replicas": "100%"}]
    obj = raw(steps=steps, trafficRoutings=ROUTINGS, enableExtraWorkloadForCanary=True)
    obj = edited(obj, "spec", "workloadRef", "kind", to="StatefulSet")
    warnings = admit_rollout(None, obj, (), headers=headers).warnings
    assert not any("neither traffic nor matches" in text for text in warnings)


@pytest.mark.parametrize(
    ("replicas", "extra", "warned"),
    [("50%", False, True), ("100%", False, False), ("100%", True, True)],
)
def test_a_share_that_changes_to_that_of_the_pods_is_a_warning(
    replicas: str, extra: bool, warned: bool
) -> None:
    match = {"headers": [{"name": "a", "value": "b"}]}
    steps = [{"replicas": 1, "matches": [match]}, {"replicas": replicas}]
    obj = raw(steps=steps, trafficRoutings=ROUTINGS, enableExtraWorkloadForCanary=extra)
    verdict = admit_rollout(None, obj, (), headers=headers)
    assert verdict.findings == ()
    assert any("steps[1] has neither traffic" in text for text in verdict.warnings) is warned
    leading = raw(steps=list(reversed(steps)), trafficRoutings=ROUTINGS)
    assert not any(
        "says neither" in text
        for text in admit_rollout(None, leading, (), headers=headers).warnings
    )


def test_an_unreadable_object_is_left_to_the_other_rules() -> None:
    assert "strategy" in message_of(edited(raw(), "spec", "strategy", to={}))
    broken = raw(steps="x")
    assert admit_rollout(None, broken, (), headers=headers).findings


@pytest.mark.parametrize("strategy", [{"canary": {"steps": 3}}, {}])
def test_an_object_without_a_strategy_is_not_checked_against_gateways(strategy: JsonObject) -> None:
    beta: JsonObject = {"spec": {"strategy": strategy}}
    assert validate_gateways(beta, beta, lambda reference: None) == GatewayVerdict()


def of_envoy(reference: Reference) -> ScriptHeader | None:
    return ScriptHeader(regex="re2", longest_regex=1024)


def test_an_expression_that_the_gateway_cannot_compile_is_refused_with_its_field() -> None:
    match = {"headers": [{"name": "a", "value": "(?!x).*", "type": "RegularExpression"}]}
    obj = raw(steps=[{"replicas": 1, "matches": [match]}], trafficRoutings=ROUTINGS)
    path = "spec.strategy.canary.steps[0].matches[0].headers[0].value: Invalid value"
    for written in (obj, to_v1alpha1(obj)):
        message = admit_rollout(None, written, (), headers=of_envoy).message
        assert message.startswith(path)
        assert "which reads RE2: (?!: look-around" in message
    assert admit_rollout(None, obj, (), headers=lambda _: ScriptHeader()).findings == ()
