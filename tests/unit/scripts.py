"""Scripts without a worker: the plan is written into one part of the gateway object's spec.

Invariant: the answer depends on the input alone. The header of each kind's script (the kinds that it names, whether
proxies learn of Services from its objects, its abilities) is given by the test.
"""

import hashlib

import msgspec

from controller.domain.decision import Reference
from controller.domain.traffic.plan.header import ScriptHeader
from controller.errors import WorkerUnavailable
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Executed, ScriptAnswer


class PlainScripts:
    """One script for each kind, and the worker that runs it."""

    def __init__(self) -> None:
        self.depths: dict[str, int] = {}
        """By kind: 0 for objects that no other gateway object names, 1 for those that they name, and so on."""
        self.announcing: set[str] = set()
        """Kinds whose proxies learn of Services from their objects."""
        self.can: dict[str, set[str]] = {}
        """By kind: the abilities of its script; a kind without an entry has all of them."""
        self.confirming: set[str] = set()
        """Kinds whose script reads in the status whether the gateway took the object."""
        self.missing_of: dict[str, str] = {}
        """By kind: the places without a script for it."""
        self.worker_is_away = False
        self.questions = 0
        """How often a second chunk was run; a status is `{generation, says}`, of any generation if it has none."""
        self._known: dict[str, tuple[Script, ScriptHeader]] = {}

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script of a kind."""
        missing = self.missing(reference)
        return MissingScript(missing) if missing else self._of(reference)[0]

    def header(self, reference: Reference) -> ScriptHeader | None:
        """The header of a script."""
        return None if self.missing(reference) else self._of(reference)[1]

    def missing(self, reference: Reference) -> str:
        """The places without a script; empty if a script exists."""
        return self.missing_of.get(reference.kind, "")

    def _of(self, reference: Reference) -> tuple[Script, ScriptHeader]:
        text = self._text(reference)
        if text not in self._known:
            raw = text.encode()
            digest = hashlib.sha256(raw).hexdigest()
            taken = Script(reference.kind, b"", f"taken {digest}", "packaged")
            confirms = reference.kind in self.confirming
            script = Script(
                reference.kind, raw, digest, "packaged", taken=taken if confirms else None
            )
            self._known[text] = script, script.header
        return self._known[text]

    def _text(self, reference: Reference) -> str:
        lines = [f"-- {reference.kind}"]
        own = self.depths.get(reference.kind, 0)
        below = [kind for kind, depth in self.depths.items() if depth == own + 1]
        lines += [f"--@after {reference.group}/{kind}" for kind in below]
        lines += ["--@announce"] if reference.kind in self.announcing else []
        can = self.can.get(reference.kind)
        lines += ["-- confirms"] if reference.kind in self.confirming else []
        lines += [f"--@can {' '.join(sorted(can))}"] if can is not None else []
        return "\n".join(lines)

    async def execute(
        self, script: Script, obj: bytes, *, tenant: str, request_id: str
    ) -> ScriptAnswer:
        """The answer of the script: the original's spec, and the plan in `plan`."""
        if self.worker_is_away:
            raise WorkerUnavailable("the worker restarts")
        asked = msgspec.json.decode(obj)
        if not script.text:
            self.questions += 1
            report = asked["status"]
            current = report.get("generation", asked["generation"]) >= asked["generation"]
            says = report["says"] if current else {"wait": ""}
            return Executed(msgspec.json.encode({"taken": True} if says is True else says))
        data = asked["data"]
        wanted = NAMED if self.depths.get(asked["object"]["kind"]) else ASKED
        plan = {name: asked[name] for name in wanted if name in asked}
        spec = {**data.get("spec", {}), "plan": plan}
        return Executed(msgspec.json.encode({**data, "spec": spec}, order="sorted"))


ASKED = (
    "announce",
    "canaryService",
    "canaryWeight",
    "matches",
    "patchPodMetadata",
    "requestHeaderModifier",
    "stableService",
)
"""The part of a script's input that is written down."""
NAMED = ("canaryService", "patchPodMetadata", "stableService")
"""The part that is written into objects that others name: the same at every step, as a DestinationRule's subset."""
