"""The VirtualService script: recorded vectors, and the defects that are not repeated."""

import json
from typing import Any

import pytest

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import FOLDER, packaged, step_obj

SCRIPT = packaged(FOLDER / "networking.istio.io/VirtualService/trafficRouting.lua")
PLAIN = [{"route": [{"destination": {"host": "svc"}}]}]
UA = [{"headers": [{"name": "ua", "type": "Exact", "value": "pc"}]}]


def to(host: str, weight: int | None = None, **more: Any) -> dict[str, Any]:
    """A route entry."""
    entry: dict[str, Any] = {"destination": {"host": host, **more}}
    return entry if weight is None else {**entry, "weight": weight}


async def run(
    worker: Worker,
    spec: dict[str, Any],
    weight: int | float = -1,
    *,
    shared: bool = False,
    namespace: str | None = "demo",
    params: dict[str, Any] | None = None,
    **step: Any,
) -> pb.ExecuteResponse:
    original = {"metadata": {"name": "vs", "namespace": namespace}, "spec": spec}
    obj = step_obj(original, step, 0, service="svc", shared=shared)
    obj |= {"canaryWeight": weight, "stableWeight": 100 - weight, "params": params or {}}
    return await worker.run(SCRIPT, json.dumps(obj), name="vs")


async def routed(
    worker: Worker, http: list[dict[str, Any]], weight: int | float = -1, **more: Any
) -> Any:
    answer = await run(worker, {"http": http}, weight, **more)
    assert answer.message == ""
    return json.loads(answer.result_json)["spec"]["http"]


async def refusal(worker: Worker, spec: dict[str, Any], weight: int = -1, **more: Any) -> str:
    answer = await run(worker, spec, weight, **more)
    assert answer.code == pb.RUNTIME_ERROR
    assert answer.line > 0
    return str(answer.message).partition(": ")[2]


@pytest.mark.parametrize(
    ("route", "weight", "expected"),
    [
        pytest.param([to("svc")], 5, [to("svc", 95), to("svc-canary", 5)], id="5"),
        pytest.param([to("svc")], 100, [to("svc", 0), to("svc-canary", 100)], id="100"),
        pytest.param([to("svc")], 0, [to("svc", 100), to("svc-canary", 0)], id="0"),
        pytest.param(
            [to("svc", 80), to("other", 20)],
            5,
            [to("svc", 76), to("svc-canary", 4), to("other", 20)],
            id="a-foreign-share-stays",
        ),
        pytest.param(
            [to("svc", 33), to("o1", 33), to("o2", 34)],
            5,
            [to("svc", 3135), to("svc-canary", 165), to("o1", 3300), to("o2", 3400)],
            id="what-is-no-whole-number-is-said-in-hundredths",
        ),
        pytest.param(
            [to("svc", 50, subset="a"), to("svc", 50, subset="b")],
            5,
            [to("svc", 48, subset="a"), to("svc", 47, subset="b"), to("svc-canary", 5)],
            id="two-subsets-one-canary",
        ),
        pytest.param(
            [to("svc", 10), to("other", 90)],
            1,
            [to("svc", 990), to("svc-canary", 10), to("other", 9000)],
            id="a-share-never-vanishes",
        ),
        pytest.param([to("svc")], 12.5, [to("svc", 8750), to("svc-canary", 1250)], id="fraction"),
        pytest.param(
            [to("svc", 100), to("svc-canary", 0)],
            20,
            [to("svc", 80), to("svc-canary", 20)],
            id="a-declared-canary-is-used",
        ),
        pytest.param(
            [to("svc", port={"number": 9000})],
            5,
            [to("svc", 95, port={"number": 9000}), to("svc-canary", 5, port={"number": 9000})],
            id="the-port-is-kept",
        ),
    ],
)
async def test_weights_become_shares_of_the_route(
    script_worker: Worker, route: list[Any], weight: int, expected: list[Any]
) -> None:
    both = {"stableSubset": ["a", "b"]}
    found = await routed(script_worker, [{"route": route}], weight, params=both)
    assert found == [{"route": expected}]


async def test_weights_may_be_scaled_by_a_parameter(script_worker: Worker) -> None:
    found = await routed(script_worker, PLAIN, 20, params={"scale": 100})
    assert found == [{"route": [to("svc", 8000), to("svc-canary", 2000)]}]


@pytest.mark.parametrize(
    ("host", "namespace", "canary"),
    [
        ("svc.demo", "demo", "svc-canary.demo"),
        ("svc.demo.svc", "demo", "svc-canary.demo.svc"),
        ("svc.demo.svc.cluster.local", "demo", "svc-canary.demo.svc.cluster.local"),
        ("svc.any.svc.cluster.local", None, "svc-canary.any.svc.cluster.local"),
    ],
)
async def test_the_form_of_a_host_is_kept(
    script_worker: Worker, host: str, namespace: str | None, canary: str
) -> None:
    found = await routed(script_worker, [{"route": [to(host)]}], 20, namespace=namespace)
    assert found == [{"route": [to(host, 80), to(canary, 20)]}]


@pytest.mark.parametrize(
    "host", ["svc.other", "svc.demo.example.com", "svcx", "svc-canary", "svc."]
)
async def test_another_host_is_not_the_service(script_worker: Worker, host: str) -> None:
    text = await refusal(script_worker, {"http": [{"route": [to(host)]}]}, 20)
    assert text == "no route of this VirtualService points at Service svc"


async def test_a_match_becomes_a_rule_of_its_own(script_worker: Worker) -> None:
    rule = {"match": [{"headers": {"ua": {"exact": "pc"}}}], "route": [to("svc-canary")]}
    assert await routed(script_worker, PLAIN, matches=UA) == [rule, *PLAIN]
    shared = {**rule, "route": [to("svc", subset="canary")]}
    assert await routed(script_worker, PLAIN, matches=UA, shared=True) == [shared, *PLAIN]


async def test_matches_win_over_traffic(script_worker: Worker) -> None:
    both = await routed(script_worker, PLAIN, 20, matches=UA)
    assert both == await routed(script_worker, PLAIN, matches=UA)


async def test_an_empty_list_of_matches_is_a_weight(script_worker: Worker) -> None:
    found = await routed(script_worker, PLAIN, 30, matches=[])
    assert found == [{"route": [to("svc", 70), to("svc-canary", 30)]}]


async def test_paths_in_reverse_order(script_worker: Worker) -> None:
    matches = [
        {"path": {"type": "PathPrefix", "value": "/a"}},
        {"path": {"type": "Exact", "value": "/b"}},
        {"path": {"type": "RegularExpression", "value": "/c.*"}},
        {"path": {"value": "/d"}},
    ]
    found = await routed(script_worker, PLAIN, matches=matches)
    assert [rule.get("match") for rule in found] == [
        [{"uri": {"prefix": "/d"}}],
        [{"uri": {"regex": "/c.*"}}],
        [{"uri": {"exact": "/b"}}],
        [{"uri": {"prefix": "/a"}}],
        None,
    ]


async def test_header_query_and_path_as_in_the_originals_end_to_end_test(
    script_worker: Worker,
) -> None:
    condition = {"type": "Exact", "name": "user-agent", "value": "pc"}
    matches = [
        {"headers": [condition]},
        {"queryParams": [condition]},
        {"path": {"type": "PathPrefix", "value": "/pc"}},
    ]
    found = await routed(script_worker, PLAIN, matches=matches)
    pc = {"user-agent": {"exact": "pc"}}
    entries = [{"uri": {"prefix": "/pc"}}, {"queryParams": pc}, {"headers": pc}]
    rules = [{"match": [entry], "route": [to("svc-canary")]} for entry in entries]
    assert found == [*rules, *PLAIN]


async def test_a_copy_has_what_the_steps_path_and_a_rules_own_have_in_common(
    script_worker: Worker,
) -> None:
    http: list[dict[str, Any]] = [
        {"match": [{"uri": {"prefix": "/X"}, "ignoreUriCase": True}, {"uri": {"exact": "/y"}}],
         "route": [to("svc")]},
        *PLAIN,
    ]  # fmt: skip
    below = {"match": [{"uri": {"prefix": "/x/beta"}}], "route": [to("svc-canary")]}
    found = await routed(script_worker, http, matches=[{"path": {"value": "/x/beta"}}])
    assert found == [below, *http]
    beside = {"match": [{"uri": {"prefix": "/beta"}}], "route": [to("svc-canary")]}
    found = await routed(script_worker, http, matches=[{"path": {"value": "/beta"}}])
    assert found == [http[0], beside, *PLAIN]


async def test_a_rewritten_prefix_grows_by_what_the_steps_path_has_more(
    script_worker: Worker,
) -> None:
    http: list[dict[str, Any]] = [
        {"name": "app", "match": [{"uri": {"prefix": "/a"}}, {"uri": {"prefix": "/a/b"}}],
         "rewrite": {"uri": "/app"}, "route": [to("svc")]},
    ]  # fmt: skip
    found = await routed(script_worker, http, matches=[{"path": {"value": "/a/b/c"}}])
    copies = [(rule["name"], rule["match"], rule["rewrite"]) for rule in found[:-1]]
    asked = [{"uri": {"prefix": "/a/b/c"}}]
    assert copies == [("app-canary", asked, {"uri": "/app/b/c"})]


async def test_a_header_modifier_goes_on_the_matching_rule(script_worker: Worker) -> None:
    modifier = {
        "set": [{"name": "a", "value": "1"}],
        "add": [{"name": "b", "value": "2"}],
        "remove": ["c", "d"],
    }
    found = await routed(script_worker, PLAIN, matches=UA, requestHeaderModifier=modifier)
    request = {"set": {"a": "1"}, "add": {"b": "2"}, "remove": ["c", "d"]}
    assert found[0]["headers"] == {"request": request}
    split = await routed(script_worker, PLAIN, 20, requestHeaderModifier=modifier)
    assert split[0]["route"][1] == {**to("svc-canary", 20), "headers": {"request": request}}
    assert "headers" not in split[0]["route"][0]


async def test_types_default_and_do_not_leak_from_one_condition_to_the_next(
    script_worker: Worker,
) -> None:
    matches = [
        {"headers": [{"name": "A", "type": "RegularExpression", "value": "x"},
                     {"name": "@request.auth.claims.G", "value": "y"}]},
    ]  # fmt: skip
    found = await routed(script_worker, PLAIN, matches=matches)
    assert found[0]["match"] == [
        {"headers": {"a": {"regex": "x"}, "@request.auth.claims.G": {"exact": "y"}}}
    ]


async def test_rules_of_others_are_neither_split_nor_hijacked(script_worker: Worker) -> None:
    foreign: list[dict[str, Any]] = [
        {"match": [{"uri": {"prefix": "/other"}}], "route": [to("other")]},
        {"match": [{"uri": {"exact": "/old"}}], "redirect": {"uri": "/new"}},
        {"delegate": {"name": "x"}},
        {"match": [{"headers": {"x-a": {}}}], "route": [to("other")], "retries": {}},
    ]
    weighted = await routed(script_worker, [*foreign, *PLAIN], 20)
    assert weighted[:-1] == foreign
    matched = await routed(script_worker, [*foreign, *PLAIN], matches=UA)
    assert matched[: len(foreign)] == foreign
    assert matched[-1:] == PLAIN
    assert len(matched) == len(foreign) + 2


async def test_a_contradiction_gives_no_rule(script_worker: Worker) -> None:
    bound: dict[str, Any] = {"match": [{"headers": {"UA": {"exact": "tv"}}}], "route": [to("svc")]}
    found = await routed(script_worker, [bound, *PLAIN], matches=UA)
    assert found[0] == bound
    assert len(found) == 3


@pytest.mark.parametrize(
    ("http", "matches", "text"),
    [
        pytest.param(
            [{"match": [{"headers": {"ua": {"exact": "tv"}}}], "route": [to("svc")]}],
            UA,
            "the matches of this step contradict the conditions of every rule that points at Service svc",
            id="contradiction",
        ),
        pytest.param(
            [{"match": [{"headers": {"ua": {"regex": "tv"}}}], "route": [to("svc")]}],
            UA,
            "a rule already matches header ua in another way",
            id="undecidable",
        ),
        pytest.param(PLAIN, [{}], "a match of this step has no condition", id="empty"),
        pytest.param(
            PLAIN,
            [{"headers": [{"name": "a", "type": "Odd", "value": "b"}]}],
            "no VirtualService can match headers by type Odd",
            id="type",
        ),
        pytest.param(
            [{"route": [to("other")]}],
            UA,
            "no route of this VirtualService points at Service svc",
            id="nothing",
        ),
    ],
)
async def test_a_match_that_istio_cannot_express_is_an_error(
    script_worker: Worker, http: list[Any], matches: list[Any], text: str
) -> None:
    assert await refusal(script_worker, {"http": http}, matches=matches) == text


async def test_layer_four_alone_cannot_match(script_worker: Worker) -> None:
    spec = {"tcp": [{"route": [to("svc")]}]}
    text = await refusal(script_worker, spec, matches=UA)
    assert text.startswith("tls and tcp routes cannot match")


async def test_a_weight_of_nothing_is_an_error(script_worker: Worker) -> None:
    spec = {"http": [{"route": [to("svc", 0), to("other", 100)]}]}
    text = await refusal(script_worker, spec, 20)
    assert text == "every route of this VirtualService that points at Service svc has weight 0"


async def test_several_destinations_without_any_weight_are_an_error_as_they_are_for_istio(
    script_worker: Worker,
) -> None:
    spec = {"http": [{"route": [to("svc"), to("other")]}]}
    text = await refusal(script_worker, spec, 10)
    assert text.startswith("a rule has 2 destinations and no weight")
    others = {"http": [{"route": [to("a"), to("b")]}, *PLAIN]}
    assert (await run(script_worker, others, 10)).message == "", "a rule of others is left alone"


async def test_a_step_without_either_changes_nothing(script_worker: Worker) -> None:
    assert await routed(script_worker, PLAIN) == PLAIN
