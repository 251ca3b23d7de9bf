"""Simulators of Ingress classes give the answers that the vendors' documents give."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from tests.routing import aliyun, aws, haproxy, higress, huawei, kong, mse, nginx, skipper
from tests.routing.ingress import Gateway
from tests.routing.model import Request, Shares, Tree
from tests.routing.test_simulators import at, shares

Answer = tuple[Gateway, Sequence[Tree], Request, Shares]


def ingress(*paths: str, name: str = "one", host: str = "*", **annotations: str) -> Tree:
    """Paths are `/path service`, exact with `=` before it; annotations are under the prefix of the class."""
    listed: list[Tree] = []
    for text in paths:
        path, service = text.removeprefix("=").split(" ")
        named, _, port = service.partition(":")
        backend = {"service": {"name": named, "port": {"name": port} if port else {"number": 80}}}
        kind = "Exact" if text.startswith("=") else "Prefix"
        listed.append({"path": path, "pathType": kind, "backend": backend})
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"rules": [{"host": host, "http": {"paths": listed}}]},
    }


def under(prefix: str, **annotations: str) -> dict[str, Any]:
    """Annotations with their prefix; a dash is an underscore."""
    return {prefix + key.replace("_", "-"): value for key, value in annotations.items()}


PRODUCTION = ingress("/ production", name="a")
NGINX_WEIGHT = ingress("/ canary", **under(nginx.PREFIX, canary="true", canary_weight="20"))
NGINX_HEADER = ingress(
    "/ canary",
    **under(
        nginx.PREFIX,
        canary="true",
        canary_by_header="region",
        canary_by_header_value="hz",
        canary_weight="20",
    ),
)
NGINX: list[Answer] = [
    (nginx.ingresses, [PRODUCTION, NGINX_WEIGHT], at("/"), shares(production=80, canary=20)),
    (nginx.ingresses, [PRODUCTION, NGINX_HEADER], at("/", region="hz"), shares(canary=100)),
    (
        nginx.ingresses,
        [PRODUCTION, NGINX_HEADER],
        at("/", region="sh"),
        shares(production=80, canary=20),
    ),
    (nginx.ingresses, [PRODUCTION, ingress("=/x exact")], at("/x"), shares(exact=100)),
]
DEMO = ingress("=/hello demo-service", name="demo")
MSE_HEADER = ingress(
    "=/hello demo-service-canary",
    **under(mse.NGINX, canary="true", canary_by_header="mse", canary_by_header_value="v1"),
)
MSE_ALWAYS = ingress(
    "=/hello demo-service-canary", **under(mse.NGINX, canary="true", canary_by_header="mse")
)
MSE_QUERY = ingress(
    "=/hello demo-service-canary",
    **under(mse.NGINX, canary="true", canary_weight="50"),
    **under(mse.MSE, canary_by_query="gray", canary_by_query_value="yes"),
)
HALF = shares(demo_service=50, demo_service_canary=50)
MSE: list[Answer] = [
    (
        mse.ingresses,
        [DEMO, MSE_ALWAYS],
        at("/hello", mse="always"),
        shares(demo_service_canary=100),
    ),
    (mse.ingresses, [DEMO, MSE_ALWAYS], at("/hello", mse="v1"), shares(demo_service=100)),
    (mse.ingresses, [DEMO, MSE_HEADER], at("/hello", mse="v1"), shares(demo_service_canary=100)),
    (mse.ingresses, [DEMO, MSE_QUERY], at("/hello", "gray=yes"), shares(demo_service_canary=100)),
    (mse.ingresses, [DEMO, MSE_QUERY], at("/hello", "gray=no"), HALF),
]
TEA = ingress("/tea tea", "/ coffee", name="tea")
ALB_WEIGHT = ingress("/ new", **under(aliyun.PREFIX, canary="true", canary_weight="50"))
ALB_HEADER = ingress(
    "/ new",
    **under(
        aliyun.PREFIX,
        canary="true",
        canary_by_header="location",
        canary_by_header_value="hz",
        order="1",
    ),
)
ALB_LATE = ingress(
    "/ new", **under(aliyun.PREFIX, canary="true", canary_by_cookie="demo", order="11")
)
ALIYUN: list[Answer] = [
    (aliyun.ingresses, [TEA, ALB_WEIGHT], at("/tea"), shares(tea=100)),
    (aliyun.ingresses, [TEA, ALB_WEIGHT], at("/x"), shares(coffee=50, new=50)),
    (aliyun.ingresses, [TEA, ALB_HEADER], at("/x", location="hz"), shares(new=100)),
    (aliyun.ingresses, [TEA, ALB_HEADER], at("/tea", location="hz"), shares(new=100)),
    (aliyun.ingresses, [TEA, ALB_HEADER], at("/tea", location="sh"), shares(tea=100)),
    (aliyun.ingresses, [TEA, ALB_LATE], at("/x", cookie="demo=always"), shares(coffee=100)),
]
ORIGIN = ingress("/ origin", "/login login", name="origin")
GRAY_HEADER = ingress(
    "/ gray",
    **under(
        huawei.PREFIX,
        canary="true",
        canary_by_header="location",
        canary_by_header_value='{"values": ["hz", "s?"]}',
    ),
)
GRAY_COOKIE = ingress(
    "/ gray",
    **under(
        huawei.PREFIX,
        canary="true",
        canary_by_cookie="user",
        canary_by_cookie_value='{"values": ["a", "b"]}',
    ),
)
GRAY_WEIGHT = ingress("/ gray", **under(huawei.PREFIX, canary="true", canary_weight="20"))
HUAWEI: list[Answer] = [
    answer
    for gateway in huawei.GATEWAYS
    for answer in [
        (gateway, [ORIGIN, GRAY_HEADER], at("/", location="sh"), shares(gray=100)),
        (gateway, [ORIGIN, GRAY_HEADER], at("/", location="bj"), shares(origin=100)),
        (gateway, [ORIGIN, GRAY_COOKIE], at("/", cookie="user=b"), shares(gray=100)),
        (gateway, [ORIGIN, GRAY_COOKIE], at("/", cookie="user=always"), shares(origin=100)),
        (gateway, [ORIGIN, GRAY_WEIGHT], at("/"), shares(origin=80, gray=20)),
        (gateway, [ORIGIN, GRAY_WEIGHT], at("/login"), shares(login=100)),
    ]
] + [
    (huawei.by_path, [ORIGIN, GRAY_HEADER], at("/login", location="hz"), shares(login=100)),
    (huawei.by_policy, [ORIGIN, GRAY_HEADER], at("/login", location="hz"), shares(gray=100)),
]
PLAIN = ingress("/ plain", "/deep deep", name="plain")
STAGING = ingress("/ staging", **{f"{haproxy.PREFIX}http-header-match": "X-Env: staging"})
TWO_ENVS = ingress("/ some", **{f"{haproxy.PREFIX}http-header-match-regex": "X-Env: bar"})
HAPROXY: list[Answer] = [
    (haproxy.ingresses, [PLAIN, STAGING], at("/", **{"x-env": "staging"}), shares(staging=100)),
    (haproxy.ingresses, [PLAIN, STAGING], at("/", **{"x-env": "Staging"}), shares(plain=100)),
    (haproxy.ingresses, [PLAIN, STAGING], at("/deep", **{"x-env": "staging"}), shares(staging=100)),
    (haproxy.ingresses, [PLAIN, STAGING], at("/deep"), shares(deep=100)),
    (haproxy.ingresses, [PLAIN, TWO_ENVS], at("/", **{"x-env": "foobar"}), shares(some=100)),
    (haproxy.ingresses, [PLAIN, TWO_ENVS], at("/", **{"x-env": "barbaz"}), shares(some=100)),
]
ALTERNATIVES = ingress("/ some", **{f"{kong.PREFIX}headers.x": "a,b"})
EXPRESSION = ingress("/ some", **{f"{kong.PREFIX}headers.x": "~*^v[0-9],$"})
POSTED = ingress("/ some", **{f"{kong.PREFIX}methods": "POST,PUT"})
KONG: list[Answer] = [
    answer
    for gateway in kong.GATEWAYS
    for answer in [
        (gateway, [PLAIN, ALTERNATIVES], at("/", x="b"), shares(some=100)),
        (gateway, [PLAIN, ALTERNATIVES], at("/", x="c"), shares(plain=100)),
        (gateway, [PLAIN, ALTERNATIVES], at("/deep", x="b"), shares(some=100)),
        (gateway, [PLAIN, EXPRESSION], at("/", x="v1,"), shares(some=100)),
        (gateway, [PLAIN, POSTED], Request("/deep", "PUT", host="*"), shares(some=100)),
        (gateway, [PLAIN, POSTED], at("/deep"), shares(deep=100)),
    ]
]
MATCHED = ingress(
    "/ matched", **under(higress.HIGRESS, exact_match_header_a="1", regex_match_query_q="v.")
)
LINES = ingress("/ other", **{f"{higress.HIGRESS}destination": "80% a.dns:80\n20% b.dns:80"})
HIGRESS: list[Answer] = [
    (higress.ingresses, [PLAIN, MATCHED], at("/", "q=v1", a="1"), shares(matched=100)),
    (higress.ingresses, [PLAIN, MATCHED], at("/", "q=v12", a="1"), shares(plain=100)),
    (higress.ingresses, [PLAIN, MATCHED], at("/deep", "q=v1", a="1"), shares(deep=100)),
    (higress.ingresses, [LINES], at("/"), shares(a=80, b=20)),
]
BLUE_GREEN = ingress(
    "/path service-1:use-annotation",
    "/ rest:use-annotation",
    **{
        f"{aws.PREFIX}actions.service-1": '{"type": "forward", "forwardConfig": {"targetGroups": '
        '[{"serviceName": "service-1", "weight": 20}, {"serviceName": "service-2", "weight": 80}]}}',
        f"{aws.PREFIX}actions.rest": '{"type": "forward", "forwardConfig": {"targetGroups": '
        '[{"serviceName": "rest"}]}}',
        f"{aws.PREFIX}conditions.service-1": '[{"field": "http-header", "httpHeaderConfig": '
        '{"httpHeaderName": "HeaderName", "values": ["HeaderValue*"]}}, {"field": "query-string", '
        '"queryStringConfig": {"values": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]}}]',
    },
)
AWS: list[Answer] = [
    (
        aws.ingresses,
        [BLUE_GREEN],
        at("/path", "b=2", headername="headervalue1"),
        shares(service_1=20, service_2=80),
    ),
    (aws.ingresses, [BLUE_GREEN], at("/path", headername="HeaderValue1"), shares(rest=100)),
    (aws.ingresses, [BLUE_GREEN], at("/path", "a=1"), shares(rest=100)),
    (aws.ingresses, [ingress("/ a", "/x b", "=/x c")], at("/x"), shares(c=100)),
    (aws.ingresses, [ingress("/ a", "/x b", "=/x c")], at("/x/y"), shares(b=100)),
]
APPS = '{"my-app-1": 80, "my-app-2": 20}'
SKIPPER: list[Answer] = [
    (
        skipper.ingresses,
        [ingress("/ my-app-1", "/ my-app-2", **{skipper.WEIGHTS: APPS})],
        at("/"),
        shares(my_app_1=80, my_app_2=20),
    ),
    (
        skipper.ingresses,
        [ingress("/ my-app-1", "/ unknown", **{skipper.WEIGHTS: APPS})],
        at("/"),
        shares(my_app_1=100),
    ),
    (skipper.ingresses, [ingress("/ a", "/ b")], at("/"), shares(a=50, b=50)),
    (
        skipper.ingresses,
        [ingress("/ my-app-1", "/x alone", **{skipper.WEIGHTS: APPS})],
        at("/x"),
        shares(alone=100),
    ),
]
ANSWERS = [*NGINX, *MSE, *ALIYUN, *HUAWEI, *HAPROXY, *KONG, *HIGRESS, *AWS, *SKIPPER]


@pytest.mark.parametrize(("simulate", "objects", "request_", "expected"), ANSWERS)
def test_the_simulator_answers_as_the_vendors_document_does(
    simulate: Gateway, objects: Sequence[Tree], request_: Request, expected: Shares
) -> None:
    assert simulate(objects, request_) == expected


def test_two_canary_ingresses_of_one_rule_are_refused() -> None:
    with pytest.raises(ValueError, match="too many values"):
        nginx.ingresses([PRODUCTION, NGINX_WEIGHT, NGINX_HEADER], at("/"))


def test_an_undefined_order_of_rules_is_no_answer() -> None:
    one = ingress("/ a", **{f"{haproxy.PREFIX}http-header-match": "x: 1"})
    other = ingress("/ b", **{f"{haproxy.PREFIX}http-header-match": "y: 1"})
    with pytest.raises(AssertionError, match="not defined"):
        haproxy.ingresses([one, other], at("/", x="1", y="1"))
    with pytest.raises(AssertionError, match="not defined"):
        kong.by_document(
            [ingress("/ a"), ingress("/ b")],
            at("/"),
        )
    assert Fraction(1) == haproxy.ingresses([one, other], at("/", x="1"))["a"]
