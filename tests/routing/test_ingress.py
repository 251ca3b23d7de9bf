"""Ingress classes: the owner's Ingress and the additional ones of a class script, checked together.

The controller's own code derives a script's input and judges its answer; the simulator of the class says who answers.
Drawn are hosts, paths of both types in any order, and Services; one of them is the stable one's.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from controller.api.rollout import HttpRouteMatch
from controller.domain.decision import Reference, RoutePlan
from controller.domain.traffic.original.content import content_of
from controller.domain.traffic.validation.ingress import class_input, validate_class_answer
from controller.domain.traffic.validation.violation import Violation
from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.routing import aliyun, aws, haproxy, higress, huawei, kong, mse, nginx, skipper
from tests.routing.ingress import Gateway
from tests.routing.model import HOST, Request, Tree, whole
from tests.routing.tables import ADMIN, CANARY, LEGACY, STABLE
from tests.routing.test_routing import AGENT, EXAMPLES, GROUP
from tests.unit.lua_configuration.cases import FOLDER, packaged
from tests.unit.lua_configuration.running import header, path, query

OTHER, EVERY = "other.example.com", ""
BETA, ANDROID = header(GROUP, "beta"), header(AGENT, ".*Android.*", "RegularExpression")
BOTH = {"headers": [*BETA["headers"], *ANDROID["headers"]]}
STEPS: dict[str, list[dict[str, Any]]] = {
    "header": [BETA],
    "expression": [ANDROID],
    "cookie": [header("canary-by-cookie", "beta")],
    "parameter": [query("preview", "1")],
    "and": [BOTH],
    "or": [BETA, ANDROID],
    "values": [BETA, header(GROUP, "gamma")],
}
PATHS: dict[str, list[dict[str, Any]]] = {
    "path": [path("/api")],
    "longer-path": [path("/api/cart")],
    "exact-path": [path("/api", "Exact")],
    "path-and-header": [{**path("/api"), **BETA}],
}
PROBES = [
    Request(
        path,
        headers={
            **({GROUP: group} if group else {}),
            **({AGENT: "Mozilla (Android 15)"} if android else {}),
            **({"cookie": f"lang=en; beta={cookie}"} if cookie else {}),
        },
        query={"preview": "1"} if preview else {},
        host=host,
    )
    for host, path, group, android, cookie, preview in itertools.product(
        (HOST, OTHER),
        ("/", "/api", "/api/cart", "/admin", "/apis"),
        ("", "beta", "gamma", "betamax"),
        (False, True),
        ("", "always", "never"),
        (False, True),
    )
]


@dataclass(frozen=True)
class Class:
    """A class of Ingress: who answers, whether it has shares, which of the steps above it can express."""

    gateways: tuple[Gateway, ...]
    steps: frozenset[str] = frozenset()
    shares: bool = True
    hosts: tuple[str, ...] = (HOST, OTHER)
    annotations: dict[str, str] = field(default_factory=dict)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANYWHERE = (HOST, OTHER, EVERY)
CLASSES = {
    "nginx": Class((nginx.ingresses,), words("header expression cookie")),
    "mse": Class((mse.ingresses,), words("header expression cookie parameter")),
    "aliyun-alb": Class((aliyun.ingresses,), words("header cookie"), hosts=ANYWHERE),
    "huawei-elb": Class(huawei.GATEWAYS, words("header cookie values")),
    "higress": Class(
        (higress.ingresses,), words("header expression cookie parameter and or values")
    ),
    "haproxy": Class(
        (haproxy.ingresses,), words("header expression cookie and or values"), False, ANYWHERE
    ),
    "kong": Class(kong.GATEWAYS, words("header expression cookie and or values"), False, ANYWHERE),
    "alb": Class(
        (aws.ingresses,),
        words("header expression cookie parameter and or values"),
        hosts=ANYWHERE,
        annotations={"alb.ingress.kubernetes.io/scheme": "internal"},
    ),
    "skipper": Class((skipper.ingresses,)),
}


@dataclass(frozen=True)
class Path:
    """A path of a host and the Service that it leads to."""

    host: str
    path: str
    exact: bool
    service: str


Table = Sequence[Path]


def ingress(table: Table, annotations: dict[str, str]) -> Tree:
    """The owner's Ingress; paths of a host are one rule, in their order."""
    rules: dict[str, list[Tree]] = {}
    for entry in table:
        backend = {"service": {"name": entry.service, "port": {"number": 80}}}
        kind = "Exact" if entry.exact else "Prefix"
        path = {"path": entry.path, "pathType": kind, "backend": backend}
        rules.setdefault(entry.host, []).append(path)
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "demo", "annotations": annotations},
        "spec": {
            "rules": [
                {**({"host": host} if host else {}), "http": {"paths": paths}}
                for host, paths in rules.items()
            ]
        },
    }


@st.composite
def tables(draw: st.DrawFn, hosts: tuple[str, ...]) -> Table:
    """Draw up to five paths, of which no two of a host have the same text."""
    spots = draw(
        st.lists(
            st.tuples(
                st.sampled_from(hosts), st.sampled_from(("/", "/api", "/api/cart", "/admin"))
            ),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    table = [
        Path(*spot, draw(st.booleans()), draw(st.sampled_from((STABLE, STABLE, ADMIN, LEGACY))))
        for spot in spots
    ]
    assume(any(entry.service == STABLE for entry in table))
    return table


async def asked(
    worker: Worker,
    name: str,
    original: Tree,
    weight: float | None = None,
    matches: Sequence[dict[str, Any]] = (),
) -> list[Tree] | str:
    """All Ingresses of the step, or why the script refuses it."""
    reference = Reference("networking.k8s.io/v1", "Ingress", "web", STABLE, CANARY, name)
    annotations_of = msgspec.convert(list(matches), type=tuple[HttpRouteMatch, ...])
    share = None if weight is None else float(weight)
    plan = RoutePlan("", "demo", "web", "test", (reference,), share, annotations_of)
    content = content_of(dict(original))
    obj = class_input(reference, plan, content)
    assert isinstance(obj, bytes), obj
    script = packaged(FOLDER / "trafficrouting_ingress" / f"{name}.lua")
    result = await worker.run(script, obj.decode(), name=name)
    if result.code == pb.RUNTIME_ERROR:
        return str(result.message)
    answer = validate_class_answer(result.result_json, content, reference, plan)
    assert not isinstance(answer, Violation), answer
    made: Any = answer.content
    metadata = {**original["metadata"], "annotations": made.get("annotations", {})}
    return [{**original, "metadata": metadata, "spec": made["spec"]}, *answer.objects]


def is_meant(match: dict[str, Any], request: Request) -> bool:
    """The owner's meaning of a match: all its conditions hold; a cookie alone says always."""
    for condition in match.get("headers", ()):
        value = request.headers.get(condition["name"])
        if condition["name"] == "canary-by-cookie":
            holds = request.cookies.get(condition["value"]) == "always"
        elif condition["type"] == "Exact":
            holds = value == condition["value"]
        else:
            holds = whole(condition["value"], value)
        if not holds:
            return False
    return all(request.query.get(c["name"]) == c["value"] for c in match.get("queryParams", ()))


SHARING = [name for name, each in CLASSES.items() if each.shares]
SAYABLE = [(name, step) for name, each in CLASSES.items() for step in sorted(each.steps)]
UNSAYABLE = [
    (name, step) for name, each in CLASSES.items() for step in STEPS if step not in each.steps
]
FEWER = settings(EXAMPLES, max_examples=8)


@pytest.mark.parametrize("name", SHARING)
@FEWER
@given(data=st.data(), weight=st.integers(0, 100))
async def test_an_ingress_gives_the_share_that_the_step_asked_and_nothing_of_others(
    script_worker: Worker, name: str, data: st.DataObject, weight: int
) -> None:
    each = CLASSES[name]
    original = ingress(data.draw(tables(each.hosts)), each.annotations)
    made = await asked(script_worker, name, original, weight)
    assert not isinstance(made, str), made
    for simulate, request in itertools.product(each.gateways, PROBES):
        before, after = simulate([original], request), simulate(made, request)
        if STABLE in before:
            part = Fraction(weight, 100)
            shares = {STABLE: 1 - part, CANARY: part}
            before = {service: share for service, share in shares.items() if share}
        assert after == before, request


@pytest.mark.parametrize(("name", "step"), SAYABLE)
@FEWER
@given(data=st.data())
async def test_an_ingress_leads_only_matching_requests_to_the_canary(
    script_worker: Worker, name: str, step: str, data: st.DataObject
) -> None:
    each = CLASSES[name]
    original = ingress(data.draw(tables(each.hosts)), each.annotations)
    made = await asked(script_worker, name, original, matches=STEPS[step])
    assert not isinstance(made, str), made
    for simulate, request in itertools.product(each.gateways, PROBES):
        before, after = simulate([original], request), simulate(made, request)
        meant = STABLE in before and any(is_meant(match, request) for match in STEPS[step])
        assert after == ({CANARY: Fraction(1)} if meant else before), request


BY_PATH = [(name, step) for name in ("alb", "higress", "haproxy", "kong") for step in PATHS]
"""Classes whose script can match paths."""
ITSELF = "the Ingress itself has the path"
"""A second Ingress of the same host and path would get no requests."""
NO_SUCH_PATH = ("serves the path", "no request of this step would reach the new version")


@pytest.mark.parametrize(("name", "step"), BY_PATH)
@FEWER
@given(data=st.data())
async def test_an_ingress_leads_only_requests_of_the_steps_path_to_the_canary(
    script_worker: Worker, name: str, step: str, data: st.DataObject
) -> None:
    each = CLASSES[name]
    original = ingress(data.draw(tables(each.hosts)), each.annotations)
    made = await asked(script_worker, name, original, matches=PATHS[step])
    meant = [request for request in PROBES if of_path(PATHS[step][0], request)]
    for simulate in each.gateways:
        answers = [simulate([original], request) for request in PROBES]
        moved = [
            STABLE in answer and request in meant
            for request, answer in zip(PROBES, answers, strict=True)
        ]
        if isinstance(made, str) and ITSELF in made:
            assert name != "alb"
            assert step != "path-and-header"
            assert any(moved)
            continue
        if isinstance(made, str):
            assert any(words in made for words in NO_SUCH_PATH), made
            assert not any(moved)
            continue
        for request, answer, goes in zip(PROBES, answers, moved, strict=True):
            expected = {CANARY: Fraction(1)} if goes else answer
            assert simulate(made, request) == expected, request


def of_path(match: dict[str, Any], request: Request) -> bool:
    """The request has the path and the headers of the match."""
    value = match["path"]["value"]
    below = match["path"]["type"] != "Exact" and request.path.startswith(f"{value}/")
    return (request.path == value or below) and is_meant(match, request)


def with_actions(original: Tree) -> Tree:
    """The same Ingress for the class alb, with an action of its own name for each Service."""
    prefix, annotations = "alb.ingress.kubernetes.io/", {**original["metadata"]["annotations"]}
    text = msgspec.json.encode(original["spec"]).decode()
    for service in (STABLE, ADMIN, LEGACY):
        group = {"serviceName": service, "servicePort": "80"}
        action = {"type": "forward", "forwardConfig": {"targetGroups": [group]}}
        annotations[f"{prefix}actions.to-{service}"] = msgspec.json.encode(action).decode()
        named = f'"name":"{service}","port":{{"number":80}}'
        text = text.replace(named, f'"name":"to-{service}","port":{{"name":"use-annotation"}}')
    metadata = {**original["metadata"], "annotations": annotations}
    return {**original, "metadata": metadata, "spec": msgspec.json.decode(text)}


@pytest.mark.parametrize("step", [None, *sorted(CLASSES["alb"].steps)])
@FEWER
@given(data=st.data(), weight=st.integers(0, 100))
async def test_paths_that_lead_to_actions_are_divided_and_copied(
    script_worker: Worker, step: str | None, data: st.DataObject, weight: int
) -> None:
    each = CLASSES["alb"]
    original = with_actions(ingress(data.draw(tables(each.hosts)), each.annotations))
    matches = [] if step is None else STEPS[step]
    made = await asked(script_worker, "alb", original, weight if step is None else None, matches)
    assert not isinstance(made, str), made
    for request in PROBES:
        before, after = aws.ingresses([original], request), aws.ingresses(made, request)
        if step is None and STABLE in before:
            part = Fraction(weight, 100)
            shares = {STABLE: 1 - part, CANARY: part}
            before = {service: share for service, share in shares.items() if share}
        elif STABLE in before and any(is_meant(match, request) for match in matches):
            before = {CANARY: Fraction(1)}
        assert after == before, request


@pytest.mark.parametrize(("name", "step"), UNSAYABLE)
async def test_a_class_refuses_steps_that_it_cannot_express(
    script_worker: Worker, name: str, step: str
) -> None:
    original = ingress([Path(HOST, "/", False, STABLE)], CLASSES[name].annotations)
    assert isinstance(await asked(script_worker, name, original, matches=STEPS[step]), str)


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in SHARING])
async def test_a_class_without_shares_refuses_one(script_worker: Worker, name: str) -> None:
    original = ingress([Path(HOST, "/", False, STABLE)], {})
    assert isinstance(await asked(script_worker, name, original, 20), str)


ADMIN_FIRST = (Path(HOST, "/admin", False, ADMIN), Path(HOST, "/", False, STABLE))


@pytest.mark.parametrize("name", ["kong", "haproxy", "aliyun-alb", "huawei-elb"])
async def test_a_header_does_not_take_another_services_longer_path_along(
    script_worker: Worker, name: str
) -> None:
    original = ingress(ADMIN_FIRST, {})
    made = await asked(script_worker, name, original, matches=[BETA])
    assert not isinstance(made, str), made
    beta = Request("/admin", headers={GROUP: "beta"})
    for simulate in CLASSES[name].gateways:
        assert simulate(made, beta) == {ADMIN: Fraction(1)}
        assert simulate(made, Request("/", headers={GROUP: "beta"})) == {CANARY: Fraction(1)}


async def test_a_cookie_of_elb_has_the_values_that_choose_the_canary(script_worker: Worker) -> None:
    original = ingress(ADMIN_FIRST, {})
    alternatives = [header("canary-by-cookie", "group=a"), header("canary-by-cookie", "group=b")]
    made = await asked(script_worker, "huawei-elb", original, matches=alternatives)
    assert not isinstance(made, str), made
    for simulate, value in itertools.product(huawei.GATEWAYS, "abc"):
        expected = STABLE if value == "c" else CANARY
        found = simulate(made, Request(headers={"cookie": f"group={value}"}))
        assert found == {expected: Fraction(1)}
