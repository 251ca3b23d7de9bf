"""The warnings of admission for a plan that may surprise its author. They name the field in the author's words."""

import pytest

from controller.api.advice import advice
from controller.api.jsontree import JsonObject, changed
from controller.api.names import TRAFFIC_ROUTING
from controller.api.validation.routings import MAX_ENTRIES
from controller.api.validation.steps import MAX_STEPS
from controller.api.validation.warnings import warnings
from tests.unit.api.test_validation import ROUTING, alpha, beta, canary, texts

STEPS = "spec.strategy.canary.steps"
LEADS = "nothing routes the traffic"


def matching(**match: object) -> JsonObject:
    """A plan whose step has one match."""
    return canary({"replicas": 1, "matches": [match]}, trafficRoutings=[ROUTING])


def header(value: str) -> list[JsonObject]:
    """A header by a regular expression."""
    return [{"type": "RegularExpression", "name": "user", "value": value}]


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (beta(canary({"replicas": 1, "traffic": "5%"})), "traffic"),
        (beta(canary({"replicas": 1, "matches": [{"headers": header("a")}]})), "matches"),
        (alpha({"replicas": 1, "weight": 5}), "weight"),
        (alpha({"weight": 5, "matches": [{"headers": header("a")}]}), "matches"),
    ],
)
def test_traffic_that_nothing_leads_is_reported(obj: JsonObject, field: str) -> None:
    (lines,) = warnings(obj)
    assert lines.startswith(f"{STEPS}[0].{field}: {LEADS}")
    assert f"or leave {field} out" in lines


@pytest.mark.parametrize(
    "obj",
    [
        alpha({"weight": 5}),
        beta(canary({"replicas": 1})),
        beta(canary({"replicas": 1, "traffic": "5%"}, trafficRoutings=[ROUTING])),
        beta(canary({"replicas": 1, "traffic": "5%"}, trafficRoutingRef="shared")),
        changed(
            alpha({"replicas": 1, "weight": 5}), ("metadata", "annotations", TRAFFIC_ROUTING), "t"
        ),
    ],
)
def test_a_weight_alone_also_gives_the_number_of_pods(obj: JsonObject) -> None:
    assert not [item for item in warnings(obj) if LEADS in item]


def test_an_expression_that_only_some_gateways_know_is_reported() -> None:
    (lines,) = warnings(beta(matching(headers=header("a(?!b)"))))
    assert lines.startswith(f"{STEPS}[0].matches[0].headers[0].value: ")
    assert "Istio, Envoy, Traefik" in lines
    assert texts(beta(matching(headers=header("a(?!b)")))) == []
    assert warnings(beta(matching(headers=header("a.*b")))) == ()


@pytest.mark.parametrize(
    ("match", "place"),
    [
        ({"headers": header("(a")}, "headers[0].value"),
        ({"queryParams": header("(a")}, "queryParams[0].value"),
        ({"path": {"type": "RegularExpression", "value": "(a"}}, "path.value"),
    ],
)
def test_an_expression_that_does_not_compile_is_refused(match: JsonObject, place: str) -> None:
    (lines,) = texts(beta(matching(**match)))
    assert lines.startswith(f"{STEPS}[0].matches[0].{place}: Invalid value: '(a' is no regular")


def test_an_exact_value_is_no_expression() -> None:
    exact = [{"type": "Exact", "name": "user", "value": "(a"}]
    assert texts(beta(matching(headers=exact, path={"value": "/("}))) == []


@pytest.mark.parametrize("obj", [beta(matching()), beta(matching(headers=[]))])
def test_an_empty_match_is_refused(obj: JsonObject) -> None:
    (lines,) = texts(obj)
    assert lines.startswith(f"{STEPS}[0].matches[0]: Required value: an empty match is every")


CUSTOM = {"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "name": "web"}
OTHER_VERSION = {**CUSTOM, "apiVersion": "networking.istio.io/v1beta1"}


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ({"customNetworkRefs": [CUSTOM, OTHER_VERSION]}, {}, "[0].customNetworkRefs[1]"),
        (
            {"customNetworkRefs": [CUSTOM]},
            {"service": "t", "customNetworkRefs": [CUSTOM]},
            "[1].customNetworkRefs[0]",
        ),
        ({"ingress": {"name": "i"}}, {"ingress": {"name": "i"}}, "[1].ingress.name"),
        (
            {"gateway": {"httpRouteName": "r"}},
            {"gateway": {"httpRouteName": "r"}},
            "[1].gateway.httpRouteName",
        ),
    ],
)
def test_an_object_that_is_listed_twice_is_refused(
    first: JsonObject, second: JsonObject, place: str
) -> None:
    entries = [{"service": "s", **entry} for entry in (first, second) if entry]
    (lines,) = texts(beta(canary({"replicas": 1}, trafficRoutings=entries)))
    assert lines.startswith(f"spec.strategy.canary.trafficRoutings{place}: Duplicate value: ")


def test_a_share_without_a_percent_sign_is_refused_with_the_right_spelling() -> None:
    (lines,) = texts(beta(canary({"replicas": 1, "traffic": "20"})))
    assert 'write "20%"' in lines


def test_a_plan_that_nobody_follows_is_refused_before_it_is_judged() -> None:
    steps: list[JsonObject] = [{"replicas": 1}] * (MAX_STEPS + 1)
    (lines,) = texts(beta(canary(*steps)))
    assert f"{MAX_STEPS} is the most" in lines
    entries = [{"service": str(index), "ingress": {"name": str(index)}} for index in range(101)]
    (lines,) = texts(beta(canary({"replicas": 1}, trafficRoutings=entries)))
    assert f"{MAX_ENTRIES} is the most" in lines


def test_an_unknown_version_gets_no_advice() -> None:
    assert advice({**beta(canary({"replicas": 1})), "apiVersion": "rollouts.kruise.io/v9"}) == ()


MATCH = [{"headers": [{"type": "Exact", "name": "user", "value": "a"}]}]


def loads(*steps: JsonObject, **fields: object) -> list[str]:
    """The loads that the warnings about a plan of partition style name."""
    found = warnings(beta(canary(*steps, trafficRoutings=[ROUTING], **fields)))
    return [line for line in found if "times its load" in line]


def test_a_step_that_leaves_few_old_pods_with_most_of_the_traffic_is_warned_of() -> None:
    (line,) = loads(
        {"replicas": "20%", "traffic": "20%"},
        {"replicas": "80%", "traffic": "20%"},
        {"replicas": "100%", "traffic": "100%"},
    )
    assert line.startswith(
        "step 2 leaves 20 % of the old pods, and 80 % of the traffic with them: each gets 4.0 times its load; "
    )


@pytest.mark.parametrize(
    ("step", "warned"),
    [
        ({"replicas": "50%", "matches": MATCH}, True),
        ({"replicas": "40%", "matches": MATCH}, False),
        ({"replicas": "60%", "traffic": "30%"}, False),
        ({"replicas": 8, "traffic": "10%"}, False),
        ({"replicas": "100%", "traffic": "50%"}, False),
    ],
)
def test_the_warning_about_load_begins_at_twice_the_load_of_an_old_pod(
    step: JsonObject, warned: bool
) -> None:
    assert bool(loads(step)) is warned


def test_a_step_without_traffic_counts_before_the_first_that_has_some_and_not_after_it() -> None:
    plain: JsonObject = {"replicas": "80%"}
    routed: JsonObject = {"replicas": "80%", "traffic": "80%"}
    assert len(loads(plain, routed)) == 1
    assert loads(routed, {"replicas": "90%"}) == []


def test_old_pods_that_all_stay_are_not_warned_of() -> None:
    step: JsonObject = {"replicas": "80%", "traffic": "20%"}
    assert loads(step, enableExtraWorkloadForCanary=True) == []
