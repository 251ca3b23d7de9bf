"""The objects that a Rollout names are listed with the fields that its author wrote."""

import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject, changed, child
from controller.api.names import TRAFFIC_ROUTING
from controller.domain.admission.named import (
    Named,
    PacedStep,
    left_workload,
    named_in,
    named_in_routing,
)
from controller.domain.admission.rollout import admit_rollout
from controller.domain.decision import Reference
from controller.domain.traffic.plan.header import ScriptHeader
from tests.unit.domain.admission.test_rollout import edited, raw

MESH = "networking.istio.io/v1"
CUSTOM = {"apiVersion": MESH, "kind": "VirtualService", "name": "web"}
ROUTINGS = [
    {"service": "web", "customNetworkRefs": [CUSTOM, {**CUSTOM, "name": "edge"}]},
    {"service": "api", "ingress": {"name": "api"}, "gateway": {"httpRouteName": "api"}},
    {"service": "web", "ingress": {"name": "web"}},
]


def scripted(reference: Reference) -> ScriptHeader | None:
    """Scripts for all kinds but those of group `none`."""
    return None if reference.group == "none" else ScriptHeader()


def named(obj: JsonObject) -> dict[str, str]:
    """Paths and `Kind/name` of what an admitted Rollout names."""
    verdict = admit_rollout(None, obj, (), headers=scripted)
    assert verdict.findings == ()
    return {one.path: f"{one.kind}/{one.name}" for one in verdict.named}


def test_everything_is_named_by_its_field_and_once() -> None:
    place = "spec.strategy.canary.trafficRoutings"
    assert named(raw(trafficRoutings=ROUTINGS)) == {
        "spec.workloadRef": "Deployment/web",
        f"{place}[0].service": "Service/web",
        f"{place}[0].customNetworkRefs[0]": "VirtualService/web",
        f"{place}[0].customNetworkRefs[1]": "VirtualService/edge",
        f"{place}[1].service": "Service/api",
        f"{place}[1].ingress.name": "Ingress/api",
        f"{place}[1].gateway.httpRouteName": "HTTPRoute/api",
        f"{place}[2].ingress.name": "Ingress/web",
    }


def test_a_template_of_the_namespace_is_named_and_one_of_the_cluster_is_not() -> None:
    gate = {"templates": [{"name": "errors"}, {"name": "all", "clusterScope": True}]}
    step = {"replicas": "20%", "analysis": gate}
    assert named(raw(steps=[step])) == {
        "spec.workloadRef": "Deployment/web",
        "spec.strategy.canary.steps[0].analysis.templates[0].name": "AnalysisTemplate/errors",
    }


def test_the_older_version_has_its_own_words() -> None:
    older = to_v1alpha1(raw(trafficRoutings=ROUTINGS[:1]))
    place = "spec.strategy.canary.trafficRoutings[0]"
    spelled = edited(
        older,
        "spec",
        "strategy",
        "canary",
        "trafficRoutings",
        to=[{"service": "web", "networkRefs": [CUSTOM]}],
    )
    assert named(older)["spec.objectRef.workloadRef"] == "Deployment/web"
    assert named(older)[f"{place}.customNetworkRefs[1]"] == "VirtualService/edge"
    assert named(spelled)[f"{place}.networkRefs[0]"] == "VirtualService/web"


def test_blue_green_names_its_objects_too() -> None:
    plan = {"steps": [{"replicas": 1}], "trafficRoutings": ROUTINGS[2:]}
    found = edited(raw(), "spec", "strategy", to={"blueGreen": plan})
    assert "spec.strategy.blueGreen.trafficRoutings[0].ingress.name" in named(found)
    # An entry that the older version carries in an annotation has no spelling of its own there.
    assert "spec.strategy.blueGreen.trafficRoutings[0].service" in named(to_v1alpha1(found))


def test_a_shared_traffic_routing_is_named_by_field_or_annotation() -> None:
    found = raw(trafficRoutingRef="lane")
    assert named(found)["spec.strategy.canary.trafficRoutingRef"] == "TrafficRouting/lane"
    older = to_v1alpha1(found)
    assert named(older)[f"metadata.annotations[{TRAFFIC_ROUTING}]"] == "TrafficRouting/lane"


@pytest.mark.parametrize(
    "reference",
    [
        {"apiVersion": "v1", "kind": "Secret", "name": "keys"},
        {"apiVersion": "none/v1", "kind": "Thing", "name": "x"},
    ],
)
def test_secrets_and_kinds_without_a_script_are_never_looked_at(reference: object) -> None:
    found = raw(trafficRoutings=[{"service": "web", "customNetworkRefs": [reference]}])
    assert len(named(found)) == 2


def test_parameters_do_not_hide_named_objects() -> None:
    reference = {**CUSTOM, "params": {"scale": 100}}
    found = raw(trafficRoutings=[{"service": "web", "customNetworkRefs": [reference]}])
    assert len(named(found)) == 3
    step = [{"replicas": 1, "traffic": "20%"}]
    verdict = admit_rollout(
        None, changed(found, ("spec", "strategy", "canary", "steps"), step), (),
        headers=lambda reference: ScriptHeader(can=frozenset({"header"})),
    )  # fmt: skip
    assert "cannot divide requests by weight" in verdict.message


def test_a_refused_or_unchanged_rollout_names_nothing() -> None:
    assert admit_rollout(None, raw(steps=[]), ()).named == ()
    assert admit_rollout(raw(), raw(), ()).named == ()


def test_only_workloads_that_are_known_are_looked_at() -> None:
    beta = edited(raw(), "spec", "workloadRef", "kind", to="Job")
    assert named_in(beta, beta) == ()
    assert named_in(raw(), raw())[0] == Named("spec.workloadRef", "apps/v1", "Deployment", "web")


@pytest.mark.parametrize("strategy", [{"canary": {"steps": 3}}, {}])
def test_an_object_without_a_plan_names_nothing(strategy: JsonObject) -> None:
    beta = edited(raw(), "spec", "strategy", to=strategy)
    assert named_in(beta, beta) == ()


def test_a_refusal_speaks_of_the_workload_in_the_words_of_the_older_version() -> None:
    older = to_v1alpha1(raw("Progressing"))
    other = changed(older, ("spec", "objectRef", "workloadRef", "name"), "other")
    assert child(other, "spec", "objectRef", "workloadRef")["name"] == "other"
    assert admit_rollout(older, other, ()).message.startswith("spec.objectRef.workloadRef: ")


SMALL_STEPS = [
    {"replicas": "5%", "traffic": "5%"},
    {"replicas": "50%", "traffic": "100%"},
    {"replicas": "100%"},
]


def test_steps_that_move_the_workloads_own_pods_and_divide_requests_are_named_with_it() -> None:
    paced = raw(steps=SMALL_STEPS, trafficRoutings=ROUTINGS)
    beside = raw(steps=SMALL_STEPS, trafficRoutings=ROUTINGS, enableExtraWorkloadForCanary=True)
    alone = raw(steps=SMALL_STEPS)
    assert named_in(paced, paced)[0].paced == (
        PacedStep("spec.strategy.canary.steps[0]", "5%", "5%"),
    )
    assert [named_in(one, one)[0].paced for one in (beside, alone)] == [(), ()]


def test_a_set_of_pods_is_paced_although_an_extra_workload_is_asked_for() -> None:
    """Only a Deployment gets one; the field has no effect on other kinds."""
    asked = raw(steps=SMALL_STEPS, trafficRoutings=ROUTINGS, enableExtraWorkloadForCanary=True)
    asked = edited(asked, "spec", "workloadRef", "kind", to="StatefulSet")
    assert [step.replicas for step in named_in(asked, asked)[0].paced] == ["5%"]


OWN = {**CUSTOM, "scriptRef": {"name": "scripts", "serviceAccountName": "router"}}


def test_a_namespaces_script_names_its_config_map_and_account_and_no_gateway_object() -> None:
    entry = {"service": "web", "customNetworkRefs": [OWN]}
    place = "spec.strategy.canary.trafficRoutings[0]"
    assert named(raw(trafficRoutings=[entry])) == {
        "spec.workloadRef": "Deployment/web",
        f"{place}.service": "Service/web",
        f"{place}.customNetworkRefs[0].scriptRef.name": "ConfigMap/scripts",
        f"{place}.customNetworkRefs[0].scriptRef.serviceAccountName": "ServiceAccount/router",
    }
    routing: JsonObject = {"spec": {"objectRef": [entry]}}
    assert [(one.path, one.name) for one in named_in_routing(routing)] == [
        ("spec.objectRef[0].customNetworkRefs[0].scriptRef.name", "scripts"),
        ("spec.objectRef[0].customNetworkRefs[0].scriptRef.serviceAccountName", "router"),
    ]


def test_a_rollout_that_names_another_workload_leaves_the_former_one() -> None:
    before = raw()
    path = ("spec", "workloadRef")
    other = changed(before, path, {**child(before, *path), "name": "shop"})
    assert left_workload(before, other) == Named("spec.workloadRef", "apps/v1", "Deployment", "web")
    assert left_workload(before, to_v1alpha1(before)) is None
