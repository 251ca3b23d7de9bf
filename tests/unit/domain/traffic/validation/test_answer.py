import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api import names
from controller.domain.decision import Reference
from controller.domain.traffic.hosts import destinations_in, is_service, mentions
from controller.domain.traffic.tree import Tree
from controller.domain.traffic.validation.answer import validate_answer
from controller.domain.traffic.validation.violation import Violation
from controller.domain.traffic.validation.weights import weight_violation
from tests.unit.growth import calls

VS = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")


def to(host: str, weight: int | None = None, **more: Any) -> dict[str, Any]:
    return {"destination": {"host": host, **more}} | ({} if weight is None else {"weight": weight})


def rule(*routes: Any, **more: Any) -> dict[str, Any]:
    return {"route": list(routes), **more}


ADMIN = rule(to("admin"), match=[{"uri": {"prefix": "/admin"}}])
OLD = rule(to("old"), name="old")
STABLE = rule(to("web"))
ORIGINAL: dict[str, Any] = {
    "spec": {"hosts": ["h"], "http": [ADMIN, OLD, STABLE]},
    "labels": {"a": "1", "b": "2"},
    "annotations": {"c": "3"},
}


def answer(*rules: Any, **more: Any) -> Any:
    return {"spec": {"hosts": ["h"], "http": list(rules)}, **more}


def judged(given: Any, original: Any = None, references: tuple[Reference, ...] = (VS,)) -> Any:
    raw = given if isinstance(given, bytes) else json.dumps(given).encode()
    found = validate_answer(raw, ORIGINAL if original is None else original, references, "demo")
    return found if isinstance(found, Violation) else found.content


def flaw(given: Any, *more: Any) -> str:
    found = judged(given, *more)
    assert isinstance(found, Violation), found
    return found.message


SPLIT = rule(to("web", 80), to("web-canary.demo.svc.cluster.local", 20))


def test_a_sound_answer_is_taken_and_fields_that_it_leaves_out_are_kept() -> None:
    found = judged(answer(ADMIN, OLD, SPLIT, labels={"a": "9", "d": "4"}))
    assert found == {
        "spec": {"hosts": ["h"], "http": [ADMIN, OLD, SPLIT]},
        "labels": {"a": "9", "b": "2", "d": "4"},
        "annotations": {"c": "3"},
    }


def test_absent_labels_stay_absent_and_an_empty_lua_table_is_empty() -> None:
    assert judged({"spec": {}, "labels": [], "annotations": None}, {"spec": {}}) == {"spec": {}}


def test_our_annotations_are_not_the_scripts_business() -> None:
    found = judged({"spec": {}, "annotations": {names.ROUTE_STATE: "x", "y": "z"}}, {"spec": {}})
    assert found == {"spec": {}, "annotations": {"y": "z"}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"[]", "cannot be read"),
        (b"", "cannot be read"),
        ({}, "has no spec"),
        ({"spec": None}, "has no spec"),
        ({"spec": []}, "has no spec"),
        (answer(ADMIN, OLD, STABLE, objects=[{}]), "only kinds that the Rollout refers to"),
        (answer(ADMIN, OLD, STABLE, labels=[1]), "labels are no table"),
        (answer(ADMIN, OLD, STABLE, annotations={"n": 1}), "a value for n that is no string"),
        (answer(ADMIN, OLD, rule(to("web", 80), to("evil", 20))), "leads to evil"),
        (answer(ADMIN, OLD, rule(to("web.other.svc"))), "leads to web.other.svc"),
        (answer(ADMIN, STABLE), "spec.http"),
        (answer(OLD, ADMIN, STABLE), "spec.http"),
        (answer({**ADMIN, "timeout": "1s"}, OLD, STABLE), "spec.http"),
        ({"spec": {"hosts": ["h"]}}, "spec.http"),
        (answer(ADMIN, OLD, rule(to("web", 80), to("web-canary", 19))), "add up to 99"),
        (answer(ADMIN, OLD, rule(to("web", 0), to("web-canary", 0))), "add up to 0"),
        (answer(ADMIN, OLD, rule(to("web", 120), to("web-canary", -20))), "weight -20"),
        (
            answer(ADMIN, OLD, rule(to("web", 80), to("web-canary") | {"weight": "20"})),
            "weight 20",
        ),
    ],
)
def test_an_unsound_answer_is_refused(given: Any, words: str) -> None:
    assert words in flaw(given)


def split(*weights: int) -> Any:
    hosts = ("web", "web-canary", "legacy")
    return {"spec": {"http": [rule(*(to(h, w) for h, w in zip(hosts, weights, strict=False)))]}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([to("web", 90), to("legacy", 10)], (72, 18, 10), id="the sum stays"),
        pytest.param([to("web", 3), to("legacy", 1)], (240, 60, 100), id="a hundred times the sum"),
        pytest.param([to("web"), to("legacy")], (40, 10, 50), id="implied shares become percents"),
        pytest.param([to("web"), to("legacy")], (80, 20, 100), id="or a hundred each"),
        pytest.param([to("web")], (0, 100), id="everything to the new revision"),
    ],
)
def test_sound_weights(before: list[Any], after: tuple[int, ...]) -> None:
    assert not isinstance(judged(split(*after), {"spec": {"http": [rule(*before)]}}), Violation)


def test_a_parameter_may_scale_weights() -> None:
    scaled = msgspec.structs.replace(VS, params=msgspec.Raw(b'{"scale":10}'))
    bad = msgspec.structs.replace(VS, params=msgspec.Raw(b'{"scale":"10"}'))
    given, original = split(800, 200), {"spec": {"http": [STABLE]}}
    assert not isinstance(judged(given, original, (scaled,)), Violation)
    assert "add up" in flaw(given, original, (bad,))


def test_odd_weights_of_the_original_are_nobodys_fault() -> None:
    odd = {"spec": {"http": [rule(to("x", 0), to("y", 0)), rule(to("x", 1), to("y", 98))]}}
    assert judged(odd, odd) == odd


def test_copies_for_the_new_revision_share_by_themselves() -> None:
    original = {"spec": {"http": [rule(to("web", 50), to("web", 30, port=1), to("legacy", 20))]}}
    copy = rule(to("web-canary", 50), to("web-canary", 30, port=1))
    given = {"spec": {"http": [copy, *original["spec"]["http"]]}}
    assert judged(given, original) == given


def test_a_value_that_is_no_list_holds_no_rules() -> None:
    assert judged({"spec": {"host": "web"}}, {"spec": {"host": "old"}}) == {"spec": {"host": "web"}}


def test_an_original_without_spec_has_no_rules_to_keep() -> None:
    assert judged({"spec": {"a": 1}}, {"labels": {"a": "b"}}) == {
        "spec": {"a": 1},
        "labels": {"a": "b"},
    }


# --- hosts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "is_it"),
    [
        ("web", True),
        ("web.demo", True),
        ("web.demo.svc", True),
        ("web.demo.svc.cluster.local", True),
        ("web.demo.svcx", False),
        ("web.demox", False),
        ("web.other", False),
        ("web2", False),
        ("", False),
        ("demo/web", True),
        ("demo/web:8080", True),
        ("web_demo_svc_8080", True),
        ("demo-web-8080", True),
        ("demo-web-api", False),
        ("other/web:8080", False),
        ("web_other_svc_8080", False),
    ],
)
def test_forms_of_a_service(host: str, is_it: bool) -> None:
    assert is_service(host, "web", "demo") == is_it


def test_destinations_are_found_by_shape() -> None:
    found = destinations_in(
        {
            "http": [{"route": [to("a", subset="v1"), to("b", subset=1), {"destination": {}}]}],
            "rules": [{"backendRefs": [{"name": "c"}, {"name": 1}, "x"], "services": "none"}],
            "destination": "elsewhere",
        }
    )
    assert [str(destination) for destination in found] == ["a (subset v1)", "b", "c"]


def test_any_value_may_mention_a_service() -> None:
    assert mentions([{"x": ["web.demo"]}, 1], {"web"}, "demo")
    assert not mentions({"web": 1}, {"web"}, "demo")


def is_this_service(host: str, service: str, namespace: str) -> bool:
    """The same for one Service at a time."""
    if host == service:
        return True
    tail = host.removeprefix(f"{service}.{namespace}")
    if tail != host and (tail in ("", ".svc") or tail.startswith(".svc.")):
        return True
    if host == f"{namespace}/{service}":
        return True
    return any(
        port != host and port.isdecimal()
        for port in (
            host.removeprefix(f"{service}_{namespace}_svc_"),
            host.removeprefix(f"{namespace}-{service}-"),
            host.removeprefix(f"{namespace}/{service}:"),
        )
    )


PARTS = st.lists(
    st.sampled_from(["a", "ab", ".", ".svc", "_", "_svc_", "-", "/", ":", "8", "x"]), max_size=7
).map("".join)


@given(PARTS, st.sampled_from(["a", "ab", "a.a", "x", "ab.svc"]), st.sampled_from(["a", "ab"]))
def test_a_host_means_the_services_whose_form_it_has(
    host: str, service: str, namespace: str
) -> None:
    assert is_service(host, service, namespace) == is_this_service(host, service, namespace)


def test_the_work_grows_with_the_lists_and_not_with_the_names_in_them() -> None:
    def work(number: int) -> int:
        pools = [{"name": f"pool-{index}", "service": "web"} for index in range(number)]
        routes = [{"pool": f"other-{index}"} for index in range(number)]
        spec: Any = {"upstreams": pools, "routes": routes}
        text = json.dumps({"spec": spec}).encode()
        return calls(lambda: validate_answer(text, {"spec": spec}, (VS,), "demo"))

    assert work(400) < 2.3 * work(200)


def test_a_sum_of_weights_is_not_compared_with_every_sum_of_the_original() -> None:
    def work(number: int) -> int:
        lists: Tree = {
            f"l{index}": [{"weight": index, "x": 1}, {"weight": 1, "x": 2}]
            for index in range(number)
        }
        return calls(lambda: weight_violation(lists, lists))

    assert work(400) < 2.3 * work(200)


def test_sums_of_backends_that_go_by_their_bare_name_are_judged_too() -> None:
    original: Tree = {"spec": {"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]}}
    answer: Tree = {
        "spec": {
            "rules": [
                {
                    "backendRefs": [
                        {"name": "web", "port": 80, "weight": 100},
                        {"name": "web-canary", "port": 80, "weight": 20},
                    ]
                }
            ]
        }
    }
    assert "120" in weight_violation(answer, original)


def test_weights_of_all_entries_of_a_list_may_be_multiplied() -> None:
    backends = [{"service": "web", "weight": 90}, {"service": "x", "weight": 10}, "plain"]
    given = [
        {"service": "web", "weight": 8955},
        {"service": "web-canary", "weight": 45},
        {"service": "x", "weight": 1000},
        "plain",
    ]
    found = judged({"spec": {"backends": given}}, {"spec": {"backends": backends}})
    assert not isinstance(found, Violation), found


def test_a_rule_of_somebody_else_may_still_not_be_lost() -> None:
    ours, theirs = {"name": "u", "service": "web"}, {"name": "v", "service": "x"}
    original = {"spec": {"upstreams": [ours, theirs]}}
    assert "spec.upstreams" in flaw({"spec": {"upstreams": [ours]}}, original)


def test_an_upstream_that_names_the_service_counts_as_the_service() -> None:
    upstreams = [{"name": "u", "service": "web"}, {"service": "web"}]
    original = {
        "spec": {"upstreams": upstreams, "routes": [{"path": "/", "action": {"pass": "u"}}]}
    }
    split = {"path": "/", "splits": [{"weight": 100, "action": {"pass": "u"}}]}
    given = {"spec": {"upstreams": upstreams, "routes": [split]}}
    assert not isinstance(judged(given, original), Violation)


def test_rules_that_share_requests_out_by_themselves_have_no_sum() -> None:
    pools = [{"service": "web", "path": "/a"}, {"service": "web", "path": "/b"}]
    other = [{"service": "web-canary", "weight": 100}]
    given = [{**pool, "weight": 0, "alternateBackends": other} for pool in pools]
    assert not isinstance(judged({"spec": {"pools": given}}, {"spec": {"pools": pools}}), Violation)
