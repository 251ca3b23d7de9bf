"""Scripts say the same thing in the same words."""

from pathlib import Path

import pytest

from tests.unit.lua_configuration.capabilities import BEGIN, DOCUMENT, END, scripts, with_table
from tests.unit.lua_configuration.cases import FOLDER, cases
from tests.unit.lua_configuration.shared import parts_of, with_parts

TWINS = (("k8s.nginx.org/VirtualServer", "k8s.nginx.org/VirtualServerRoute"),)


def code_of(kind: str) -> str:
    """A script without its comments at the top, its kind called KIND."""
    lines = (FOLDER / kind / "trafficRouting.lua").read_text().splitlines()
    name = kind.rpartition("/")[2]
    start = next(at for at, line in enumerate(lines) if line and not line.startswith("--"))
    return "\n".join(lines[start:]).replace(f'"{name}"', "KIND")


def test_shared_parts_are_the_same_in_all_scripts() -> None:
    known: dict[str, tuple[Path, str]] = {}
    for path in scripts():
        for name, text in parts_of(path.read_text()).items():
            first, wanted = known.setdefault(name, (path, text))
            assert text == wanted, f"the part {name} of {path} is not that of {first}"
    assert "weights" in known


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_kinds_of_one_shape_have_one_script(one: str, other: str) -> None:
    assert code_of(one) == code_of(other)


def test_a_part_is_carried_into_another_script() -> None:
    text = "a\n-- shared: x\nold\n-- end\nb\n-- shared: y\nkept\n-- end\n"
    assert parts_of(text) == {"x": "old\n", "y": "kept\n"}
    assert with_parts(text, {"x": "new\n"}) == text.replace("old", "new")


def test_the_table_of_capabilities_is_what_the_scripts_say() -> None:
    text = DOCUMENT.read_text()
    command = "python -m tests.unit.lua_configuration.capabilities --update"
    assert text == with_table(text), f"docs/gateways.md is out of date: {command}"
    assert text.index(BEGIN) < text.index(END)


@pytest.mark.parametrize(
    "path", scripts(), ids=[str(p.parent.relative_to(FOLDER)) for p in scripts()]
)
def test_every_script_has_cases_and_is_short(path: Path) -> None:
    if path.parts[-3] != "networking.istio.io":
        assert sum(case.script == path for case in cases()) >= 7
    assert len(path.read_bytes()) < 64 * 1024
    assert all(len(line) <= 130 for line in path.read_text().splitlines())


def test_the_class_alb_is_the_script_of_references_to_an_ingress() -> None:
    kind = FOLDER / "networking.k8s.io" / "Ingress" / "trafficRouting.lua"
    assert (FOLDER / "trafficrouting_ingress" / "alb.lua").read_text() == kind.read_text()
