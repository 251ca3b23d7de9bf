"""Renders CUE templates as KubeVela does: the template, then `parameter` and `context`.

Why it exists: a trait is only known to work when CUE itself has rendered it. Invariant: a refusal of CUE is an error in
CUE's words. It must not know any trait.
"""

import asyncio
from pathlib import Path

import msgspec

from localcluster.api import JsonObject
from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import Extra, ensure_extra
from localcluster.progress import Reporter

CUE = Extra("cue", Program(Path(__file__).parent / "cue", ".", "CUE"))


async def rendered(
    template: str, parameter: JsonObject, context: JsonObject, reporter: Reporter | None = None
) -> JsonObject:
    """Return the template's `outputs`; the first call on a machine compiles CUE: about two minutes.

    Raises:
        CommandFailed: CUE refuses the template or the parameters; the message is CUE's.
    """
    built = await ensure_extra(CUE, reporter)
    asked = {"template": template, "parameter": parameter, "context": context}
    process = await asyncio.create_subprocess_exec(
        str(built.binary),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate(msgspec.json.encode(asked))
    if process.returncode:
        raise CommandFailed(errors.decode().strip())
    return msgspec.json.decode(output, type=JsonObject)
