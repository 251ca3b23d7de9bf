"""The abilities that a step needs, and the gateways that have them."""

import msgspec
import pytest

from controller.api.rollout import (
    HeaderModifier,
    HttpRouteMatch,
    NameValue,
    PathMatch,
    Step,
    ValueMatch,
)
from controller.domain.decision import Reference
from controller.domain.traffic.plan.abilities import (
    Headers,
    granted,
    left_out,
    missing_abilities,
    name_of_script,
    needs,
)
from controller.domain.traffic.plan.header import GroupKind, ScriptHeader

ROUTE = Reference("gateway.networking.k8s.io/v1", "HTTPRoute", "web", "web", "web-canary")
INGRESS = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary", "nginx")
SPLITTER = Reference("consul.hashicorp.com/v1alpha1", "ServiceSplitter", "web", "web", "web-canary")
ROUTER = Reference("consul.hashicorp.com/v1alpha1", "ServiceRouter", "web", "web", "web-canary")
HEADER = HttpRouteMatch(headers=(ValueMatch("Exact", "a", "b"),))
CHANGES = HeaderModifier(set=(NameValue("a", "b"),))


def header(*words: str, siblings: tuple[GroupKind, ...] = ()) -> ScriptHeader:
    return ScriptHeader(siblings=siblings, can=frozenset(words))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step(), ""),
        (Step(traffic="20%"), "weight"),
        (Step(traffic="0.5%"), "weight subpercent"),
        (Step(traffic="many"), ""),
        (Step(matches=(HEADER,)), "header"),
        (Step(matches=(HEADER,), traffic="0.5%"), "header"),
        (
            Step(matches=(HttpRouteMatch(headers=(ValueMatch("RegularExpression", "a", "b"),)),)),
            "header-regex",
        ),
        (
            Step(matches=(HttpRouteMatch(headers=(ValueMatch("", "canary-by-cookie", "b"),)),)),
            "cookie",
        ),
        (
            Step(
                matches=(
                    HttpRouteMatch(path=PathMatch("Exact", "/"), method="GET"),
                    HttpRouteMatch(query_params=(ValueMatch("", "a", "b"),)),
                )
            ),
            "path method query",
        ),
        (Step(traffic="1%", request_header_modifier=CHANGES), "weight header-modifier"),
        (Step(request_header_modifier=CHANGES), ""),
    ],
)
def test_a_step_needs_these_words(step: Step, words: str) -> None:
    assert needs(step, both=False) == set(words.split())


def test_with_matches_and_a_share_both_count() -> None:
    step = Step(matches=(HEADER,), traffic="0.5%")
    assert needs(step, both=True) == {"header", "weight", "subpercent"}
    asked = msgspec.structs.replace(ROUTE, params=msgspec.Raw(b'{"both":true}'))
    assert missing_abilities(step, asked, frozenset({"header", "weight"})) == (
        "divide by parts of a percent",
    )
    assert missing_abilities(step, INGRESS, frozenset({"header", "both"})) == (
        "divide requests by weight",
        "divide by parts of a percent",
    )


def test_a_script_without_a_header_is_granted_every_step() -> None:
    assert missing_abilities(Step(traffic="0.5%"), ROUTE, None) == ()
    headers: Headers = lambda _: ScriptHeader()  # noqa: E731
    assert granted(ROUTE, (ROUTE,), headers) is None
    nothing: Headers = lambda _: None  # noqa: E731
    assert granted(ROUTE, (ROUTE,), nothing) is None


def test_siblings_share_the_work_of_one_service() -> None:
    router = GroupKind("consul.hashicorp.com", "ServiceRouter")

    def headers(reference: Reference) -> ScriptHeader | None:
        if reference.kind == "ServiceSplitter":
            return header("weight", siblings=(router,))
        return header("header")

    assert granted(SPLITTER, (SPLITTER,), headers) == frozenset({"weight"})
    assert granted(SPLITTER, (SPLITTER, ROUTER), headers) == frozenset({"weight", "header"})
    other = msgspec.structs.replace(ROUTER, stable_service="shop")
    assert granted(SPLITTER, (SPLITTER, other), headers) == frozenset({"weight"})

    def silent(reference: Reference) -> ScriptHeader | None:
        return headers(reference) if reference.kind == "ServiceSplitter" else ScriptHeader()

    assert (
        missing_abilities(
            Step(matches=(HEADER,)), SPLITTER, granted(SPLITTER, (SPLITTER, ROUTER), silent)
        )
        == ()
    )


WEIGHTS, HEADERS = frozenset({"weight"}), frozenset({"header"})
SHARED = msgspec.structs.replace(ROUTER, canary_service="web")


@pytest.mark.parametrize(
    ("step", "abilities", "left"),
    [
        (Step(matches=(HEADER,)), ((ROUTE, None), (INGRESS, WEIGHTS)), (INGRESS,)),
        (Step(matches=(HEADER,)), ((ROUTE, HEADERS), (INGRESS, None)), ()),
        (Step(matches=(HEADER,)), ((ROUTE, WEIGHTS), (INGRESS, WEIGHTS)), ()),
        (Step(matches=(HEADER,)), ((ROUTE, HEADERS), (SHARED, WEIGHTS)), ()),
        (Step(matches=(HEADER,)), (), ()),
        (Step(traffic="20%"), ((ROUTE, WEIGHTS), (INGRESS, HEADERS)), ()),
        (
            Step(matches=(HEADER,), request_header_modifier=CHANGES),
            ((ROUTE, None), (INGRESS, HEADERS)),
            (INGRESS,),
        ),
    ],
)
def test_a_gateway_that_cannot_match_is_left_out_where_another_can(
    step: Step,
    abilities: tuple[tuple[Reference, frozenset[str] | None], ...],
    left: tuple[Reference, ...],
) -> None:
    assert left_out(step, abilities) == left


def test_messages_name_the_class_or_the_object() -> None:
    assert name_of_script(ROUTE) == "HTTPRoute/web"
    assert name_of_script(INGRESS) == "Ingress class nginx (Ingress/web)"
