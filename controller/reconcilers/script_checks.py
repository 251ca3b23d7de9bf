"""Checks the ConfigMap of scripts when it changes, so that a defect is reported before a release needs the script.

It checks for every key whether it names a kind or a class, whether its script compiles (in the worker's sandbox), and
whether a packaged script hides it. A defect is reported once, as an Event on the ConfigMap, and again when it is
corrected; a metric counts keys by state. Invariant: no decision depends on it; a release with a broken script is
stopped by its own pass. No script's text is reported, only the compiler's message. While the worker does not answer,
the last results stay, and it is asked again.
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
from controller.domain.exchange.answer import Does
from controller.errors import WorkerUnavailable
from controller.kube.store import Store
from controller.reconcilers.scripts import ConfigMap
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Refused, ScriptAnswer

PREFIX = "lua."
"""Keys with this prefix are meant as scripts; other keys belong to somebody else."""
SCRIPT_PREFIX = "lua.traffic.routing."
RETRY = 30.0
"""Seconds until the worker is asked again after it did not answer."""
TENANT = "script-checks"
_OF_THE_MOMENT = frozenset({"TIMEOUT", "CRASHED"})
"""Outcomes that may be caused by the machine and not by the text: reported, but checked again."""

UNUSABLE = "ScriptUnusable"
"""Event: a script does not compile, is empty, or has a key that names no kind."""
SHADOWED = "ScriptShadowed"
"""Event: a key of the ConfigMap has no effect, because a packaged script is used instead."""
USABLE = "ScriptUsable"
"""Event: the defect of a key is corrected."""

_log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of a key of the ConfigMap; the label of the metric."""

    USABLE = "usable"
    UNUSABLE = "unusable"
    SHADOWED = "shadowed"


class ScriptState(msgspec.Struct, frozen=True):
    """A key's state and the reason; the message is empty if the key is usable."""

    state: State
    message: str = ""


class Validator(Protocol):
    """Compiles scripts: the worker's client."""

    async def validate(self, script: Script, *, tenant: str, request_id: str) -> ScriptAnswer:
        """Whether the script compiles. Raises WorkerUnavailable."""
        ...


class PackagedScripts(Protocol):
    """Compares keys with packaged scripts and modules: the script library."""

    def configured(self, key: str, text: str) -> Script | MissingScript:
        """The script with everything its header asks for, or the parts that are missing."""
        ...

    def shadowed(self, config_map: Mapping[str, str] | None) -> tuple[str, ...]:
        """Keys that a packaged script hides."""
        ...


class EventReporter(Protocol):
    """Reports about the ConfigMap: the recorder of Events."""

    def __call__(
        self, metadata: ObjectMeta, type: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Report one event; returns at once."""
        ...


class ScriptMetrics(Protocol):
    """Counts keys by state."""

    def configured_scripts(self, state: str, count: int) -> None:
        """The number of keys of the ConfigMap in this state."""
        ...


class ScriptChecks:
    """Checks one ConfigMap while `run` runs."""

    def __init__(
        self,
        store: Store[ConfigMap],
        key: Key,
        *,
        validator: Validator,
        shadows: PackagedScripts,
        report: EventReporter,
        metrics: ScriptMetrics | None = None,
        retry: float = RETRY,
    ) -> None:
        self._store = store
        self._key = key
        self._validator = validator
        self._shadows = shadows
        self._report = report
        self._metrics = metrics
        self._retry = retry
        self._changed = asyncio.Event()
        self._states: dict[str, ScriptState] = {}
        self._compiled: dict[tuple[str, str], str] = {}
        """The compiler's message by key and hash of the text; empty if it compiles."""
        self._unsure = False

    async def run(self) -> None:
        """Check now, and after every change, until cancelled."""
        unsubscribe = self._store.subscribe(self._on_change)
        self._changed.set()
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if not await self.check():
                    await self._wait_for_change()
        finally:
            unsubscribe()

    def _on_change(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        seen = new if new is not None else old
        if seen is not None and seen.metadata.key == self._key:
            self._changed.set()

    async def _wait_for_change(self) -> None:
        """Wait for a change, or until the worker has to be asked again."""
        try:
            async with asyncio.timeout(self._retry):
                await self._changed.wait()
        except TimeoutError:
            self._changed.set()

    async def check(self) -> bool:
        """Check every key; false if one of them has to be checked again."""
        self._unsure = False
        found = self._store.get(self._key)
        data = (found.data or {}) if found is not None else {}
        hidden = frozenset(self._shadows.shadowed(data))
        complete = True
        states: dict[str, ScriptState] = {}
        for key in sorted(key for key in data if key.startswith(PREFIX)):
            try:
                states[key] = await self._state(key, data[key], hidden)
            except WorkerUnavailable as problem:
                _log.warning("scripts not checked", extra={"error": str(problem)})
                complete = False
                if key in self._states:
                    states[key] = self._states[key]
        current = {(key, _digest(text)) for key, text in data.items()}
        self._compiled = {
            asked: result for asked, result in self._compiled.items() if asked in current
        }
        if found is not None:
            self._report_changes(found.metadata, states)
        self._states = states
        self._count(states)
        return complete and not self._unsure

    async def _state(self, key: str, text: str, hidden: frozenset[str]) -> ScriptState:
        if problem := _key_problem(key):
            return ScriptState(State.UNUSABLE, f"key {key} {problem}")
        if not text.strip():
            return ScriptState(State.UNUSABLE, f"key {key} is empty and counts as no script")
        script = self._shadows.configured(key, text)
        if isinstance(script, MissingScript):
            return ScriptState(State.UNUSABLE, f"key {key}: {script.reason}")
        if problem := await self._compile_error(key, text, script):
            return ScriptState(State.UNUSABLE, f"key {key} does not compile: {problem}")
        if key in hidden:
            message = (
                f"key {key} is not used: a packaged script serves this kind; references that say "
                "script: configMap use the key"
            )
            return ScriptState(State.SHADOWED, message)
        return ScriptState(State.USABLE)

    async def _compile_error(self, key: str, text: str, script: Script) -> str:
        """The compiler's message; empty if the text compiles. Asked once for each text."""
        digest = _digest(text)
        if (key, digest) not in self._compiled:
            answer = await self._validator.validate(script, tenant=TENANT, request_id=key)
            if isinstance(answer, Refused) and answer.code in _OF_THE_MOMENT:
                self._unsure = True
                return _problem(answer)
            self._compiled[key, digest] = _problem(answer)
        return self._compiled[key, digest]

    def _report_changes(self, metadata: ObjectMeta, states: Mapping[str, ScriptState]) -> None:
        """One Event for every key whose state has changed."""
        for key, state in states.items():
            before = self._states.get(key)
            if state == before:
                continue
            match state.state:
                case State.UNUSABLE:
                    self._report(metadata, "Warning", UNUSABLE, state.message)
                case State.SHADOWED:
                    self._report(metadata, "Warning", SHADOWED, state.message)
                case State.USABLE:
                    if before is not None:
                        self._report(metadata, "Normal", USABLE, f"key {key} can be used now")

    def _count(self, states: Mapping[str, ScriptState]) -> None:
        if self._metrics is None:
            return
        counted = Counter(state.state for state in states.values())
        for state in State:
            self._metrics.configured_scripts(state.value, counted[state])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _problem(answer: ScriptAnswer) -> str:
    """The compiler's message, with the line in words instead of the script's (shortened) name."""
    if not isinstance(answer, Refused):
        return ""
    return (
        f"line {answer.line}: {answer.plain_message}"
        if answer.plain_message != answer.message
        else answer.message
    )


def _key_problem(key: str) -> str:
    """Why no look-up can find this key; empty if a look-up can."""
    kind, _, group = key.removeprefix(SCRIPT_PREFIX).partition(".")
    if any(key.removeprefix(f"{PREFIX}{does}.") not in ("", key) for does in Does):
        return ""
    if key.startswith(SCRIPT_PREFIX) and kind and group:
        return ""
    asking = ", ".join(f"{PREFIX}{does}.<name>" for does in Does)
    of_gateways = f"{SCRIPT_PREFIX}<Kind>.<group>, {SCRIPT_PREFIX}ingress.<class>"
    return f"names nothing: {of_gateways}, or one of {asking} is expected"
