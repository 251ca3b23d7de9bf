"""Code that scripts share is only in the library. Kinds that differ only in names have one script."""

from pathlib import Path

import pytest

from controller.scripts.lookup import packaged_texts
from tests.unit.lua_configuration.capabilities import BEGIN, DOCUMENT, END, scripts, with_table
from tests.unit.lua_configuration.cases import FOLDER, cases, packaged
from tests.unit.lua_configuration.stats import problems

ALIKE = (
    ("gateway.networking.k8s.io/HTTPRoute", "policy.linkerd.io/HTTPRoute"),
    ("k8s.nginx.org/VirtualServer", "k8s.nginx.org/VirtualServerRoute"),
    ("gateway.solo.io/RouteTable", "gateway.solo.io/VirtualService"),
    ("gateway.networking.k8s.io/TCPRoute", "gateway.networking.k8s.io/TLSRoute"),
    ("gateway.networking.k8s.io/TCPRoute", "gateway.networking.k8s.io/UDPRoute"),
    ("traefik.io/IngressRouteTCP", "traefik.io/IngressRouteUDP"),
    ("cis.f5.com/VirtualServer", "cis.f5.com/TransportServer"),
)
REPEATED = 8
"""Lines in a row, of code, that stand in two files: a part that belongs into the library."""


def test_the_scripts_are_as_short_as_documented() -> None:
    assert problems() == []


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_kinds_of_one_shape_have_one_script(one: str, other: str) -> None:
    first, second = (packaged(FOLDER / kind / "trafficRouting.lua") for kind in (one, other))
    assert second.text == first.text
    assert second.header.name != first.header.name


def test_the_class_alb_is_the_script_of_references_to_an_ingress() -> None:
    kind = packaged(FOLDER / "networking.k8s.io" / "Ingress" / "trafficRouting.lua")
    assert packaged(FOLDER / "trafficrouting_ingress" / "alb.lua").text == kind.text


def test_no_part_is_in_two_files() -> None:
    """Headers and comments apart."""
    seen: dict[tuple[str, ...], Path] = {}
    for path in sorted(FOLDER.rglob("*.lua")):
        lines = [line.strip() for line in path.read_text().splitlines()]
        code = [line for line in lines if len(line) > len("end,") and not line.startswith("--")]
        for at in range(len(code) - REPEATED + 1):
            part = tuple(code[at : at + REPEATED])
            assert seen.setdefault(part, path) == path, f"{part} in {seen[part]} and in {path}"


def test_the_table_of_capabilities_agrees_with_the_scripts() -> None:
    text = DOCUMENT.read_text()
    command = "python -m tests.unit.lua_configuration.capabilities --update"
    assert text == with_table(text), f"docs/gateways.md is out of date: {command}"
    assert text.index(BEGIN) < text.index(END)


@pytest.mark.parametrize(
    "path", scripts(), ids=[str(p.parent.relative_to(FOLDER)) for p in scripts()]
)
def test_every_script_has_cases(path: Path) -> None:
    if path.parts[-3] != "networking.istio.io":
        assert sum(case.script == path for case in cases()) >= 7


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.lua")), ids=str)
def test_lines_are_short(path: Path) -> None:
    assert all(len(line) <= 130 for line in path.read_text().splitlines())


def test_a_script_asks_for_the_modules_that_it_uses_and_no_others() -> None:
    for name in packaged_texts():
        script = packaged(FOLDER / name)
        chunks = script.text + (script.taken.text if script.taken is not None else b"")
        code = "\n".join(
            line for line in chunks.decode().splitlines() if not line.startswith("--@")
        )
        unused = [module for module in script.header.uses if f"{module}." not in code]
        assert unused == [], name
