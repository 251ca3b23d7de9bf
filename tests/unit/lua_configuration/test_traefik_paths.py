"""A rule of Traefik is a text: the step's path is a condition beside it, whatever the rule has."""

import pytest

from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.running import answered, path
from tests.unit.lua_configuration.test_refusals import TRAEFIK

STEP = "(Path(`/a`) || PathPrefix(`/a/`))"


@pytest.mark.parametrize(
    ("rule", "copied"),
    [
        ("Host(`a`)", f"Host(`a`) && {STEP}"),
        ("Host(`a`) || PathPrefix(`/b`)", f"(Host(`a`) || PathPrefix(`/b`)) && {STEP}"),
        ("Host(`a`) && (PathPrefix(`/b`))", f"Host(`a`) && (PathPrefix(`/b`)) && {STEP}"),
    ],
)
async def test_a_rule_keeps_all_its_conditions_beside_the_steps_path(
    script_worker: Worker, rule: str, copied: str
) -> None:
    spec = await answered(
        script_worker,
        "traefik.io/IngressRoute",
        TRAEFIK.replace("Host(`a`)", rule),
        matches=[path("/a")],
    )
    assert [route["match"] for route in spec["routes"]] == [copied, rule]
