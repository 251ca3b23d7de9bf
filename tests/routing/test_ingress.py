"""ingress-nginx: an Ingress with the canary Ingresses beside it, as the packaged class script makes them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.routing.model import Request, whole
from tests.routing.nginx import with_canaries
from tests.types.expected import SCRIPTS

CASE = SCRIPTS / "trafficrouting_ingress" / "testdata" / "nginx" / "steps.yaml"
STABLE, CANARY = "web", "web-canary"
PROBES = [
    Request(path, headers={**group, **agent, **cookie})
    for path in ("/", "/shop", "/admin", "/admin/users")
    for group in ({}, {"x-user-group": "beta"}, {"x-user-group": "other"})
    for agent in ({}, {"user-agent": "Mozilla (Android 15)"})
    for cookie in ({}, {"cookie": "beta=always"}, {"cookie": "beta=never"})
]


def steps(case: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Steps that can be said, with what the script makes of each."""
    content = yaml.safe_load(case.read_text())
    asked = content["rollout"]["spec"]["strategy"]["canary"]["steps"]
    pairs = zip(asked, content["expected"], strict=False)
    return [(step, made) for step, made in pairs if isinstance(made, dict) and "error" not in made]


def is_meant(match: dict[str, Any], request: Request) -> bool:
    (condition,) = match["headers"]
    if condition["name"] == "canary-by-cookie":
        return request.cookies.get(condition["value"]) == "always"
    value = request.headers.get(condition["name"])
    if condition["type"] == "Exact":
        return bool(value == condition["value"])
    return whole(condition["value"], value)


@pytest.mark.parametrize(("step", "made"), steps(CASE))
def test_canary_ingresses_take_what_the_step_asked(
    step: dict[str, Any], made: dict[str, Any]
) -> None:
    ingress = yaml.safe_load(CASE.read_text())["original"]
    share = Fraction(step.get("traffic", "0%").removesuffix("%")) / 100
    for request in PROBES:
        before = with_canaries(ingress, (), request)
        after = with_canaries(ingress, made.get("objects", ()), request)
        if STABLE not in before:
            assert after == before
            continue
        meant = any(is_meant(match, request) for match in step.get("matches", ()))
        part = Fraction(1) if meant else share
        expected = {STABLE: 1 - part, CANARY: part}
        assert after == {name: each for name, each in expected.items() if each}, request
