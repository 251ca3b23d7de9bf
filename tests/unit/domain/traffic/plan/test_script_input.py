import json
from typing import Any

import msgspec
import pytest

from controller.api.rollout import (
    HeaderModifier,
    HttpRouteMatch,
    NameValue,
    PatchMetadata,
    PathMatch,
    Step,
    ValueMatch,
)
from controller.domain.decision import Reference
from controller.domain.traffic.plan.header import GroupKind, ScriptHeader, parse_header
from controller.domain.traffic.plan.script_input import (
    Cycle,
    depths_of,
    params_of,
    script_input,
    sibling_of,
)
from controller.domain.traffic.plan.traffic_plan import announcement, route_plan

VS = Reference(
    "networking.istio.io/v1",
    "VirtualService",
    "web",
    "web",
    "web-canary",
    params=msgspec.Raw(b'{"scale":100}'),
)
ORIGINAL: dict[str, Any] = {"spec": {"http": [], "retries": {}}, "labels": {"a": "b"}}


def obj(step: Step, **changes: Any) -> dict[str, Any]:
    plan = route_plan(
        namespace="demo", rollout="web", release="r1", references=(VS,), step=step, **changes
    )
    decoded: dict[str, Any] = json.loads(script_input(VS, plan, ORIGINAL))
    return decoded


def test_a_weight_step_gives_the_contract_and_the_additions() -> None:
    assert obj(Step(traffic="20%"), pod_metadata=PatchMetadata(labels={"version": "canary"})) == {
        "data": ORIGINAL,
        "canaryWeight": 20,
        "stableWeight": 80,
        "canaryService": "web-canary",
        "stableService": "web",
        "patchPodMetadata": {"labels": {"version": "canary"}, "annotations": {}},
        "object": {
            "apiVersion": "networking.istio.io/v1",
            "kind": "VirtualService",
            "name": "web",
            "namespace": "demo",
        },
        "params": {"scale": 100},
        "siblings": [],
    }


def test_labels_of_the_stable_pods_are_given_if_they_are_known() -> None:
    assert obj(Step(traffic="20%"), stable_labels={"a": "b"})["stablePodLabels"] == {"a": "b"}
    assert "stablePodLabels" not in obj(Step(traffic="20%"))


def test_labels_of_the_stable_pods_are_no_part_of_the_identity() -> None:
    plans = [
        route_plan(
            namespace="demo", rollout="web", release="r1", references=(VS,), step=Step(),
            stable_labels=labels,
        )
        for labels in (None, {}, {"a": "b"})
    ]  # fmt: skip
    assert len({plan.identity for plan in plans}) == 1


@pytest.mark.parametrize(
    ("traffic", "text"),
    [
        ("20%", b'"canaryWeight":20,'),
        ("0%", b'"stableWeight":100,'),
        ("0.5%", b'"canaryWeight":0.5,'),
        ("33.3%", b'"stableWeight":66.7}'),
    ],
)
def test_whole_weights_print_whole(traffic: str, text: bytes) -> None:
    plan = route_plan(
        namespace="d", rollout="w", release="r", references=(), step=Step(traffic=traffic)
    )
    assert text[:-1] in script_input(VS, plan, {})


def test_matches_without_a_share_give_the_numbers_scripts_expect() -> None:
    step = Step(
        matches=(
            HttpRouteMatch(
                path=PathMatch(type="Exact", value="/pay"),
                headers=(ValueMatch("Exact", "user-agent", "pc"), ValueMatch(name="x", value="")),
                query_params=(ValueMatch("RegularExpression", "q", ".*"),),
                method="GET",
            ),
            HttpRouteMatch(),
        ),
        request_header_modifier=HeaderModifier(
            set=(NameValue("a", "1"),), add=(NameValue("b", "2"),), remove=("c",)
        ),
    )
    given = obj(step)
    assert (given["canaryWeight"], given["stableWeight"]) == (-1, 101)
    assert given["matches"] == [
        {
            "path": {"type": "Exact", "value": "/pay"},
            "headers": [
                {"type": "Exact", "name": "user-agent", "value": "pc"},
                {"name": "x", "value": ""},
            ],
            "queryParams": [{"type": "RegularExpression", "name": "q", "value": ".*"}],
            "method": "GET",
        },
        {},
    ]
    assert given["requestHeaderModifier"] == {
        "set": [{"name": "a", "value": "1"}],
        "add": [{"name": "b", "value": "2"}],
        "remove": ["c"],
    }
    assert obj(Step(request_header_modifier=HeaderModifier()))["requestHeaderModifier"] == {}


def test_matches_are_absent_when_there_are_none() -> None:
    assert "matches" not in obj(Step(traffic="20%"))


def test_siblings_show_identity_and_original() -> None:
    plan = route_plan(namespace="d", rollout="w", release="r", references=(), step=Step())
    sibling = sibling_of(VS, plan, ORIGINAL)
    given = json.loads(script_input(VS, plan, {}, (sibling,)))
    assert given["siblings"][0]["spec"] == ORIGINAL["spec"]
    assert given["siblings"][0]["name"] == "web"


def test_parameters_that_are_no_object_count_as_none() -> None:
    assert params_of(msgspec.structs.replace(VS, params=msgspec.Raw(b"[]"))) == {}


# --- headers and order ------------------------------------------------------------------------------

RULE = GroupKind("networking.istio.io", "DestinationRule")


def test_a_header_is_the_comments_at_the_top() -> None:
    text = (
        "--@name Istio\n\n-- words\n--@after networking.istio.io/DestinationRule, Service\n--@after x/Y x/Y\n"
        "--@siblings networking.istio.io/DestinationRule\n--@can weight, header\n--@can path\n--@future thing\n"
        "local x = 1\n--@name ignored\n"
    )
    assert parse_header(text) == ScriptHeader(
        name="Istio",
        after=(RULE, GroupKind("", "Service"), GroupKind("x", "Y")),
        siblings=(RULE,),
        can=frozenset({"weight", "header", "path"}),
    )


def test_a_script_without_header_says_nothing_and_can_everything() -> None:
    assert parse_header("\ufeff-- just a comment\nreturn obj.data") == ScriptHeader()
    assert parse_header("--@after x/\n") == ScriptHeader()
    assert str(RULE) == "networking.istio.io/DestinationRule"
    assert str(GroupKind("", "Service")) == "Service"


def of(kind: str, name: str = "n") -> Reference:
    return Reference("g/v1", kind, name, "s", "c")


def after(*kinds: str) -> ScriptHeader:
    return ScriptHeader(after=tuple(GroupKind("g", kind) for kind in kinds))


def test_depths_follow_headers_not_the_list() -> None:
    given = ((of("C"), after("B", "A")), (of("B"), after("A")), (of("A"), after("Absent")))
    assert depths_of(given) == (0, 1, 2)
    assert depths_of(given[::-1]) == (2, 1, 0)
    assert depths_of(()) == ()


def test_kinds_that_come_after_each_other_are_a_cycle() -> None:
    found = depths_of(
        ((of("X"), after("A")), (of("A"), after("B")), (of("B"), after("A")), (of("C"), after()))
    )
    assert isinstance(found, Cycle)
    assert str(found) == "g/B after g/A after g/B"
    assert isinstance(depths_of(((of("A"), after("A")),)), Cycle)


def test_an_announcement_asks_for_a_name_without_a_share_at_every_step() -> None:
    step = Step(
        traffic="20%",
        matches=(HttpRouteMatch(headers=(ValueMatch(name="a", value="b"),)),),
        request_header_modifier=HeaderModifier(remove=("x",)),
    )
    plan = route_plan(namespace="demo", rollout="web", release="r1", references=(VS,), step=step)
    given = json.loads(script_input(VS, announcement(plan), ORIGINAL))
    assert given["announce"] is True
    assert (given["canaryWeight"], given["stableWeight"]) == (0, 100)
    assert not given.keys() & {"matches", "requestHeaderModifier"}
    assert announcement(plan).identity != plan.identity


def test_a_script_says_in_a_line_of_its_own_that_it_announces() -> None:
    assert parse_header("--@name A\n--@announce\nreturn obj.data").announces
    assert not parse_header("--@name A\n-- announce\nreturn obj.data").announces


def test_a_script_says_which_modules_it_uses_and_which_script_it_is_the_same_as() -> None:
    found = parse_header("--@use weights, conditions\n--@use weights tables\n--@same-as g/K h/L\n")
    assert found.uses == ("weights", "conditions", "tables")
    assert found.same_as == GroupKind("g", "K")
    assert parse_header("--@use\n--@same-as\n") == ScriptHeader()
