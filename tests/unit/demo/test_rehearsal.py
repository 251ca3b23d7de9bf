"""While the control plane is being built there is a release to see."""

import asyncio
import io
import time

import pytest
from rich.console import Console

from demo.rehearsal import rehearse_while
from demo.screen import Screen
from localcluster.errors import BuildError


def screen() -> tuple[Screen, io.StringIO]:
    output = io.StringIO()
    return Screen(Console(file=output, width=200), time.monotonic()), output


async def test_the_example_is_played_before_the_build_is_done() -> None:
    shown, output = screen()

    async def build() -> str:
        while "That was the simulation" not in output.getvalue():  # noqa: ASYNC110 - what is awaited is a text
            await asyncio.sleep(0.01)
        return "built"

    async with asyncio.timeout(60):
        assert await rehearse_while(shown, build()) == "built"
    text = output.getvalue()
    assert "Step 1: 20% new pods, 20% of the traffic" in text
    assert "subset: canary" in text
    assert "every gateway object is as it was" in text


async def test_a_build_that_fails_ends_the_rehearsal_with_its_error() -> None:
    shown, output = screen()

    async def build() -> None:
        raise BuildError("no Go")

    with pytest.raises(BuildError, match="no Go"):
        await rehearse_while(shown, build())
    assert "That was the simulation" not in output.getvalue()
