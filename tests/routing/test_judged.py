"""Every packaged script is judged by a simulator: no kind and no class of Ingress is left out unseen."""

from pathlib import Path

from tests.routing import test_contested, test_ingress, test_routing, test_subsets
from tests.unit.lua_configuration.cases import FOLDER

INGRESS = "networking.k8s.io/Ingress"
"""The same script as the class alb, which says that it is the same."""
DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_every_packaged_script_is_judged() -> None:
    kinds = {
        str(path.parent.relative_to(FOLDER)) for path in FOLDER.rglob("*/*/trafficRouting.lua")
    }
    judged = {*test_routing.ALL, *test_routing.MATCHES, *test_contested.KINDS, test_subsets.RULE}
    assert kinds == judged | {INGRESS}
    assert f"All {len(judged)} kinds are checked" in DOCUMENT.read_text()


def test_every_class_of_ingress_is_judged() -> None:
    classes = {path.stem for path in FOLDER.glob("trafficrouting_ingress/*.lua")}
    assert classes == test_ingress.CLASSES.keys()
    assert INGRESS in (FOLDER / "trafficrouting_ingress" / "alb.lua").read_text()
