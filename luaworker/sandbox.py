"""The prepared Lua state: engine, codec, runner and the stripped world, built once and inherited by every child.

Invariant: no Python callable and no Python exception ever enters the state, and after a script has started the host
calls into it exactly once and takes only byte strings and numbers out. lupa alone is no sandbox; what confines a
script is the process (child.py).
"""

from dataclasses import dataclass
from pathlib import Path

from lupa import lua51

from luaworker.codes import Code

BACKEND = "lua51"
_LUA = Path(__file__).parent / "lua"
_NOT_CONTROL = bytes(range(32, 256))
_PARTS = ("decode", "encode", "runner", "sandbox")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the runner returned, unchecked."""

    code: Code
    result: bytes = b""
    message: bytes = b""
    traceback: bytes = b""
    line: int = 0
    path: bytes = b""
    log: bytes = b""


def _refuse_attribute(_object: object, _name: object, *_value: object) -> object:
    raise AttributeError("no Python in here")


class Sandbox:
    """One Lua state with the runner inside. Good for one script."""

    def __init__(self) -> None:
        self._lua = lua51.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=False,
            attribute_handlers=(_refuse_attribute, _refuse_attribute),
            max_memory=0,  # counts, without a bound; the bound comes per call
        )
        parts = [(_LUA / f"{part}.lua").read_bytes() for part in _PARTS]
        self._run = self._lua.execute((_LUA / "prepare.lua").read_bytes(), *parts)

    def limit_memory(self, size: int) -> None:
        """Bounds what the state may hold."""
        self._lua.set_max_memory(size)

    @property
    def memory(self) -> int:
        """Bytes the state holds now."""
        return int(self._lua.get_memory_used())

    def run(
        self, script: bytes, name: bytes, object_json: bytes | None, cpu_ms: int, output: int
    ) -> Answer:
        """Runs the script over the object; compiles only where there is none. May end the process instead."""
        clean = object_json is not None and not object_json.translate(None, _NOT_CONTROL)
        try:
            code, result, message, traceback, line, path, log = self._run(
                script, name, object_json, clean, cpu_ms, output
            )
        except (lua51.LuaMemoryError, MemoryError):
            return Answer(Code.MEMORY_LIMIT, message=name + b": memory limit exceeded")
        return Answer(Code[code.decode()], result, message, traceback, int(line), path, log)
