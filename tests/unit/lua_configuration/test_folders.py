"""Another kind is another folder: the product's Python knows no gateway by name."""

import io
import tokenize
from functools import cache
from pathlib import Path

import pytest

from controller.domain.decision import Reference
from controller.domain.traffic.plan.dialects import DIALECTS
from controller.domain.traffic.plan.header import parse_header
from controller.effects.gateways import ConfiguredScripts
from controller.scripts.lookup import Script, ScriptLibrary
from tests.unit.lua_configuration.cases import FOLDER

PYTHON = tuple(
    path for room in ("controller", "luaworker") for path in (FOLDER.parent / room).rglob("*.py")
)
KNOWN = {
    # The two kinds that the API itself has fields for, and the class that an absent classType means.
    ("api/validation/routings.py", "gateway.networking.k8s.io"),
    ("api/validation/routings.py", "networking.k8s.io"),
    ("domain/traffic/plan/traffic_plan.py", "gateway.networking.k8s.io"),
    ("domain/traffic/plan/traffic_plan.py", "networking.k8s.io"),
    ("domain/traffic/plan/traffic_plan.py", "nginx"),
    ("scripts/lookup.py", "nginx"),
    # DestinationRules' subsets show, before a step, whether one shared Service separates its revisions.
    ("domain/traffic/validation/services.py", "networking.istio.io"),
    # The original keeps nothing of an HTTPRoute, so its original is worked out when a release is taken over.
    ("domain/traffic/original/httproute.py", "gateway.networking.k8s.io"),
    # Commands that only look: the kinds that most clusters have, for what the original and Moonshift leave on them.
    ("cli/handover/inventory.py", "gateway.networking.k8s.io"),
    ("cli/handover/inventory.py", "networking.istio.io"),
    ("cli/handover/inventory.py", "networking.k8s.io"),
    ("cli/install/gathering.py", "gateway.networking.k8s.io"),
    ("cli/install/gathering.py", "networking.istio.io"),
    ("cli/install/gathering.py", "networking.k8s.io"),
}
NAMES = sorted(
    {path.name for path in FOLDER.glob("*.*/")}
    | {path.stem for path in FOLDER.glob("trafficrouting_ingress/*.lua")}
)


@cache
def literals(path: Path) -> set[str]:
    """Every string of the file that is not a docstring or a comment, without its quotes."""
    found = set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        standing_alone = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL)
        if token.type == tokenize.STRING and not standing_alone:
            found.add(token.string.strip("rbf\"'"))
        if token.type != tokenize.COMMENT:
            before = token.type
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_python_knows_a_gateway_by_name(name: str) -> None:
    knowing = {
        (path.relative_to(FOLDER.parent).as_posix().partition("/")[2], name)
        for path in PYTHON
        if any(text == name or text.startswith(f"{name}/") for text in literals(path))
    }
    assert knowing <= KNOWN


def test_a_new_folder_and_a_new_file_are_found(tmp_path: Path) -> None:
    kind = tmp_path / "fair.example.dev" / "Lane"
    classes = tmp_path / "trafficrouting_ingress"
    for folder in (kind, classes):
        folder.mkdir(parents=True)
    (kind / "trafficRouting.lua").write_text("--@can weight\nreturn obj.data")
    (classes / "fair.lua").write_text("--@can header\nreturn {}")
    scripts = ConfiguredScripts(ScriptLibrary.read(tmp_path), lambda: None)
    lane = Reference("fair.example.dev/v3", "Lane", "web", "web", "web-canary")
    ingress = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary", "fair")
    for reference, can in ((lane, "weight"), (ingress, "header")):
        assert isinstance(scripts.resolve(reference), Script)
        header = scripts.header(reference)
        assert header is not None
        assert header.can == frozenset({can})


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.lua")), ids=lambda path: path.stem)
def test_the_dialect_of_a_packaged_script_is_one_that_expressions_are_compared_with(
    path: Path,
) -> None:
    header = parse_header(path.read_text())
    assert header.regex in {"", *DIALECTS}
    assert not header.regex or (header.can is not None and "header-regex" in header.can)
