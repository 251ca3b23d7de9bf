"""Every number that the controller serves is moved by somebody: one without a caller would stay at zero and mislead."""

import ast
import inspect
from pathlib import Path

import pytest

from controller.telemetry.metrics import Metrics

CONTROLLER = Path(__file__).parents[3] / "controller"
METHODS = sorted(
    name for name, _ in inspect.getmembers(Metrics, inspect.isfunction) if not name.startswith("_")
)


def mentioned() -> frozenset[str]:
    """Every attribute that is read anywhere but in the metrics themselves."""
    here = {CONTROLLER / "telemetry" / name for name in ("metrics.py", "standard.py")}
    return frozenset(
        node.attr
        for path in CONTROLLER.rglob("*.py")
        if path not in here
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute)
    )


CALLED = mentioned()


@pytest.mark.parametrize("method", METHODS)
def test_every_counting_function_has_a_caller(method: str) -> None:
    assert method in CALLED
