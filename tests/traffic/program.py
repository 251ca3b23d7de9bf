"""Runs a program to its end, for tests that read its output. Invariant: no program outlives its test."""

import asyncio
import os
from typing import NamedTuple

from demo.stage import ROOT


class Result(NamedTuple):
    """The exit code and the output of a program."""

    code: int
    output: bytes
    errors: bytes


async def finished(*command: str) -> Result:
    """Run a command in the checkout until it ends; a cancelled test ends it."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env=os.environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode is not None
    return Result(process.returncode, output, errors)
