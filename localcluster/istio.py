"""istiod, and the judgement of Istio's own validation.

Why it exists: only Istio knows what a mesh does with a change, and which objects it refuses. Invariant: an object that
Istio's webhook refuses is an error in Istio's words. It must not know the product.
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

MODULE = "istio.io/istio"
KINDS = "manifests/charts/base/files/crd-all.gen.yaml"
ISTIO = Extra(
    "istio",
    # Without the tag, the messages of its configuration are not fit for the way in which Istio encodes them; the other
    # tag leaves out the checks of Envoy's messages, which Envoy makes itself.
    Program(Path(__file__).parent / "istio", ".", "Istio", tags="vtprotobuf,disable_pgv"),
    {MODULE: (KINDS,)},
)


class _Answer(msgspec.Struct):
    error: str
    warning: str


_ANSWER = msgspec.json.Decoder(_Answer)


class IstioJudge:
    """The validation of Istio's webhook, without a cluster."""

    def __init__(self, built: BuiltExtra) -> None:
        self._built = built

    @classmethod
    async def ready(cls, reporter: Reporter | None = None) -> "IstioJudge":
        """Return a judge; the first call on a machine compiles Istio: about six minutes."""
        return cls(await ensure_extra(ISTIO, reporter))

    async def errors(self, objects: Sequence[JsonObject]) -> list[str]:
        """Return each object's mistakes; an empty text if the webhook would let it pass."""
        questions = b"".join(msgspec.json.encode({"object": item}) + b"\n" for item in objects)
        process = await asyncio.create_subprocess_exec(
            str(self._built.binary),
            "judge",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate(questions)
        lines = output.splitlines()
        if process.returncode != 0 or len(lines) != len(objects):
            raise CommandFailed(f"Istio's judge ended: {errors.decode()[-2000:]}")
        return [_ANSWER.decode(line).error for line in lines]
