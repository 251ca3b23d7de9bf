"""The worker's Lua files in this very process: for tests of trusted text only."""

from luaworker.sandbox import Answer, CompiledFiles
from luaworker.wire import Module


def run(
    script: str, obj: bytes | None = b"{}", *, name: bytes = b"s", modules: tuple[Module, ...] = ()
) -> Answer:
    """A fresh state runs the script; no timers, no memory limit."""
    return CompiledFiles().build().run(script.encode(), name, obj, 60_000, 64 << 20, modules)


def result(script: str, obj: bytes = b"{}") -> bytes:
    """The result of a script that works."""
    answer = run(script, obj)
    assert answer.code == 0, answer
    return answer.result
