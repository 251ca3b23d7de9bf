"""Judges objects of gateway kinds by the Go types that their projects publish.

Why it exists: an API server without a kind's CRD accepts any field, and a test that compares with our own expectations
would, too. Invariant: a field that the type does not have is an error; a kind that is not known is one too. It must not
judge values: the allowed values of a field are the business of the kind's own controller.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from localcluster.api import JsonObject
from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.progress import Reporter

REALTYPES = Extra(
    "realtypes",
    Program(Path(__file__).parent / "realtypes", ".", "the gateways' published types"),
)
OF_A_MODULE = "module "
"""The beginning of the source of a kind whose Go types are imported. For other kinds we listed the fields from a public
schema.
"""


class _Answer(msgspec.Struct):
    error: str


_ANSWER = msgspec.json.Decoder(_Answer)


class Judge:
    """The program that knows the types."""

    def __init__(self, built: BuiltExtra) -> None:
        self._built = built

    @classmethod
    async def ready(cls, reporter: Reporter | None = None) -> "Judge":
        """Return a judge; the first call on a machine compiles it: about two minutes."""
        return cls(await ensure_extra(REALTYPES, reporter))

    async def kinds(self) -> dict[str, str]:
        """Return where the types of each kind (group/Kind) come from."""
        return msgspec.json.decode(await self._run(("kinds",), b""), type=dict[str, str])

    async def errors(self, objects: Sequence[JsonObject]) -> list[str]:
        """Return each object's mistakes; an empty text if the object is of its type."""
        questions = b"".join(msgspec.json.encode({"object": item}) + b"\n" for item in objects)
        lines = (await self._run((), questions)).splitlines()
        if len(lines) != len(objects):
            raise CommandFailed(f"{len(objects)} objects, {len(lines)} answers")
        return [_ANSWER.decode(line).error for line in lines]

    async def _run(self, arguments: tuple[str, ...], input_text: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            str(self._built.binary),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate(input_text)
        if process.returncode != 0:
            raise CommandFailed(f"the judge of types ended: {errors.decode()[-2000:]}")
        return output
