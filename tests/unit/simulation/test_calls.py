"""The cost of one release's passes for the interpreter does not grow unnoticed: calls of the product's functions.

Why calls: seconds mean nothing on a shared machine, a count is the same everywhere. The limits are a quarter above the
counted calls; a change that computes something again in every pass, or starts a pass without a reason, exceeds them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from controller.simulation.passes import Passes
from tests.unit.builders import release
from tests.unit.simulation.test_requests import at_rest

MOST = {"canary": 94_100, "partition": 144_000}
OF_THE_SIMULATION = "/simulation/"


class Calls:
    """Calls while a pass runs, without those of the simulated cluster."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """One event of the interpreter."""
        path = frame.f_code.co_filename
        if event == "call" and "/controller/" in path and OF_THE_SIMULATION not in path:
            self.count += 1


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """Count the calls of all passes for the length of a block."""
    calls, over = Calls(), Passes.over_rollout

    def over_counted(passes: Passes, *about: Any) -> Any:
        before = sys.getprofile()
        sys.setprofile(calls.note)
        try:
            return over(passes, *about)
        finally:
            sys.setprofile(before)

    with monkeypatch.context() as patch:
        patch.setattr(Passes, "over_rollout", over_counted)
        yield calls


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_release_makes_at_most_the_recorded_number_of_calls(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = at_rest(style)
    with counted(monkeypatch) as calls:
        release(world)
        world.rest()
    assert calls.count <= MOST[style]
