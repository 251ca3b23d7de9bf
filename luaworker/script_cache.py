"""The server's memory of scripts between calls: their texts by hash, and repeated failures.

Invariant: bounded, content-addressed, and only an optimisation: forgotten texts are sent again.
Compiled code is never kept, since a compiler that read hostile text cannot be trusted.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from luaworker.codes import Code
from luaworker.wire import Module

_CACHE_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 256  # the size of an entry without its text: otherwise tiny texts would cost nothing
_BREAKER_SCRIPTS = 1024
_FAILURES = 3
_OPEN_SECONDS = 30.0
# Outcomes after which a child is dead or has used its whole budget; the others are cheap to repeat.
_COSTLY = frozenset({Code.TIMEOUT, Code.MEMORY_LIMIT, Code.CRASHED, Code.SANDBOX_VIOLATION})


def program_digest(script: bytes, modules: Sequence[Module]) -> bytes:
    """The hash of a script, given as its own hash, together with its modules: their names, their texts, their order."""
    if not modules:
        return script
    whole = hashlib.sha256(script)
    for module in modules:
        # A name has no NUL and a hash has one length: no two sets of modules make the same bytes.
        whole.update(module.name + (b"\0-" if module.hidden else b"\0+") + module.digest)
    return whole.digest()


class ScriptCache:
    """Texts of scripts by SHA-256, the least recently used forgotten first."""

    def __init__(self, capacity: int = _CACHE_BYTES) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0

    def keep(self, script: bytes) -> bytes:
        """Remembers a text and returns its hash."""
        digest = hashlib.sha256(script).digest()
        if digest in self._texts:
            self._texts.move_to_end(digest)
            return digest
        self._texts[digest] = script
        self._size += len(script) + _ENTRY_BYTES
        while self._size > self._capacity:
            _, forgotten = self._texts.popitem(last=False)
            self._size -= len(forgotten) + _ENTRY_BYTES
        return digest

    def text(self, digest: bytes) -> bytes | None:
        """The text of a hash, if it is still known."""
        script = self._texts.get(digest)
        if script is not None:
            self._texts.move_to_end(digest)
        return script


@dataclass(frozen=True, slots=True)
class _Record:
    failures: int
    last: float
    outcome: str


class Breaker:
    """Refuses, for a while, a script whose calls kill their children again and again.

    Counted per tenant: one tenant's object that makes a good script slow must not stop that script for other tenants.
    """

    def __init__(self) -> None:
        self._records: OrderedDict[tuple[str, bytes], _Record] = OrderedDict()

    def refusal(self, tenant: str, digest: bytes, now: float) -> str:
        """Why the script is not run now, or nothing. After the pause one call is let through to try."""
        record = self._records.get((tenant, digest))
        if record is None or record.failures < _FAILURES:
            return ""
        rest = record.last + _OPEN_SECONDS - now
        if rest <= 0:
            return ""
        return (
            f"not run: it failed {record.failures} times in a row, last with: {record.outcome} "
            f"(tried again in {rest:.0f} s)"
        )

    def open(self, now: float) -> int:
        """How many scripts are refused now, counted for each tenant."""
        return sum(
            record.failures >= _FAILURES and record.last + _OPEN_SECONDS > now
            for record in self._records.values()
        )

    def note(self, tenant: str, digest: bytes, code: Code, message: str, now: float) -> None:
        """Counts a costly failure; any other outcome clears the count."""
        known = self._records.pop((tenant, digest), None)
        if code not in _COSTLY:
            return
        failures = known.failures + 1 if known else 1
        self._records[tenant, digest] = _Record(failures, now, f"{code.name} {message}")
        while len(self._records) > _BREAKER_SCRIPTS:
            self._records.popitem(last=False)
