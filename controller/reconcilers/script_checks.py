"""Looks at the ConfigMap of scripts when it changes, so that a mistake is heard of before a release needs the script.

For every key: does it name a kind or a class, does its script compile (asked of the worker, in its sandbox), is it
hidden by a packaged script. What is wrong is told once, as an Event on the ConfigMap, and again when it is put right;
a metric counts keys by state. Invariant: nothing is decided by it, a release with a broken script is stopped by
the release's own pass; no script's text is ever told, only the compiler's message. While the worker cannot be asked,
what was known stays known, and it is asked again.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, Protocol

import msgspec

from controller.api.meta import Key, ObjectMeta
from controller.errors import WorkerUnavailable
from controller.kube.store import Store
from controller.reconcilers.scripts import ConfigMap
from controller.scripts.answer import Refused, ScriptAnswer
from controller.scripts.lookup import MissingScript, Script

PREFIX = "lua."
"""Keys that begin so are meant as scripts; others are somebody else's."""
SCRIPT_PREFIX = "lua.traffic.routing."
RETRY = 30.0
"""Seconds until the worker is asked again that did not answer."""
TENANT = "script-checks"
_OF_THE_MOMENT = frozenset({"TIMEOUT", "CRASHED"})
"""Outcomes that may be the machine's and not the text's: told, but looked at again."""

UNUSABLE = "ScriptUnusable"
"""Event: a script does not compile, is empty, or stands under a key that names nothing."""
SHADOWED = "ScriptShadowed"
"""Event: a packaged script is used instead."""
USABLE = "ScriptUsable"
"""Event: what was wrong with a key is put right."""

_log = logging.getLogger(__name__)


class State(StrEnum):
    """How a key of the ConfigMap stands; the label of the metric."""

    USABLE = "usable"
    UNUSABLE = "unusable"
    SHADOWED = "shadowed"


class Standing(msgspec.Struct, frozen=True):
    """A key's state, and why; the message is empty where all is well."""

    state: State
    message: str = ""


class Validator(Protocol):
    """Something that compiles scripts: the worker's client."""

    async def validate(self, script: Script, *, tenant: str, request_id: str) -> ScriptAnswer:
        """Whether the script compiles. Raises WorkerUnavailable."""
        ...


class Shadows(Protocol):
    """Something that knows how keys stand beside packaged scripts and modules: the script library."""

    def configured(self, key: str, text: str) -> Script | MissingScript:
        """The script with all that its header asks for, or what it asks for in vain."""
        ...

    def shadowed(self, config_map: Mapping[str, str] | None) -> tuple[str, ...]:
        """Keys that a packaged script hides."""
        ...


class Teller(Protocol):
    """Tells people about the ConfigMap: the recorder of Events."""

    def __call__(
        self, metadata: ObjectMeta, type: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """One thing to tell; returns at once."""
        ...


class ScriptMetrics(Protocol):
    """Counts keys by state."""

    def configured_scripts(self, state: str, count: int) -> None:
        """So many keys of the ConfigMap are in this state."""
        ...


class ScriptChecks:
    """Checks one ConfigMap, for as long as `run` runs."""

    def __init__(
        self,
        store: Store[ConfigMap],
        key: Key,
        *,
        validator: Validator,
        shadows: Shadows,
        tell: Teller,
        metrics: ScriptMetrics | None = None,
        retry: float = RETRY,
    ) -> None:
        self._store = store
        self._key = key
        self._validator = validator
        self._shadows = shadows
        self._tell = tell
        self._metrics = metrics
        self._retry = retry
        self._changed = asyncio.Event()
        self._standings: dict[str, Standing] = {}
        self._compiled: dict[tuple[str, str], str] = {}
        """The compiler's message by key and hash of the text; empty where it compiles."""
        self._unsure = False

    async def run(self) -> None:
        """Check now, and after every change, until cancelled."""
        unsubscribe = self._store.subscribe(self._heard)
        self._changed.set()
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if not await self.check():
                    await self._patience()
        finally:
            unsubscribe()

    def _heard(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        seen = new if new is not None else old
        if seen is not None and seen.metadata.key == self._key:
            self._changed.set()

    async def _patience(self) -> None:
        """Wait for a change, or until it is time to ask the worker again."""
        try:
            async with asyncio.timeout(self._retry):
                await self._changed.wait()
        except TimeoutError:
            self._changed.set()

    async def check(self) -> bool:
        """One look at every key; false where one of them has to be looked at again."""
        self._unsure = False
        found = self._store.get(self._key)
        data = (found.data or {}) if found is not None else {}
        hidden = frozenset(self._shadows.shadowed(data))
        complete = True
        standings: dict[str, Standing] = {}
        for key in sorted(key for key in data if key.startswith(PREFIX)):
            try:
                standings[key] = await self._standing(key, data[key], hidden)
            except WorkerUnavailable as problem:
                _log.warning("scripts not checked", extra={"error": str(problem)})
                complete = False
                if key in self._standings:
                    standings[key] = self._standings[key]
        current = {(key, _digest(text)) for key, text in data.items()}
        self._compiled = {asked: said for asked, said in self._compiled.items() if asked in current}
        if found is not None:
            self._tell_changes(found.metadata, standings)
        self._standings = standings
        self._count(standings)
        return complete and not self._unsure

    async def _standing(self, key: str, text: str, hidden: frozenset[str]) -> Standing:
        if problem := _key_problem(key):
            return Standing(State.UNUSABLE, f"key {key} {problem}")
        if not text.strip():
            return Standing(State.UNUSABLE, f"key {key} is empty and counts as no script")
        script = self._shadows.configured(key, text)
        if isinstance(script, MissingScript):
            return Standing(State.UNUSABLE, f"key {key}: {script.reason}")
        if problem := await self._compiler_says(key, text, script):
            return Standing(State.UNUSABLE, f"key {key} does not compile: {problem}")
        if key in hidden:
            message = (
                f"key {key} is not used: a packaged script serves this kind; references that say "
                "script: configMap use the key"
            )
            return Standing(State.SHADOWED, message)
        return Standing(State.USABLE)

    async def _compiler_says(self, key: str, text: str, script: Script) -> str:
        """What is wrong with the text; empty where it compiles. Asked once for each text."""
        digest = _digest(text)
        if (key, digest) not in self._compiled:
            answer = await self._validator.validate(script, tenant=TENANT, request_id=key)
            if isinstance(answer, Refused) and answer.code in _OF_THE_MOMENT:
                self._unsure = True
                return _problem(answer)
            self._compiled[key, digest] = _problem(answer)
        return self._compiled[key, digest]

    def _tell_changes(self, metadata: ObjectMeta, standings: Mapping[str, Standing]) -> None:
        """One Event for every key that stands otherwise than before."""
        for key, standing in standings.items():
            before = self._standings.get(key)
            if standing == before:
                continue
            match standing.state:
                case State.UNUSABLE:
                    self._tell(metadata, "Warning", UNUSABLE, standing.message)
                case State.SHADOWED:
                    self._tell(metadata, "Warning", SHADOWED, standing.message)
                case State.USABLE:
                    if before is not None:
                        self._tell(metadata, "Normal", USABLE, f"key {key} can be used now")

    def _count(self, standings: Mapping[str, Standing]) -> None:
        if self._metrics is None:
            return
        counted = Counter(standing.state for standing in standings.values())
        for state in State:
            self._metrics.configured_scripts(state.value, counted[state])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _problem(answer: ScriptAnswer) -> str:
    """What the compiler says, with the line in words instead of the script's (shortened) name."""
    if not isinstance(answer, Refused):
        return ""
    return f"line {answer.line}: {answer.said}" if answer.said != answer.message else answer.message


def _key_problem(key: str) -> str:
    """Why no look-up will ever find this key; empty where one will."""
    kind, _, group = key.removeprefix(SCRIPT_PREFIX).partition(".")
    if key.startswith(SCRIPT_PREFIX) and kind and group:
        return ""
    return f"names nothing: {SCRIPT_PREFIX}<Kind>.<group> or {SCRIPT_PREFIX}ingress.<class> is expected"
