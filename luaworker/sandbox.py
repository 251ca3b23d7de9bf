"""The prepared Lua state: engine, codec, runner and the stripped world, inherited by every child.

Invariant: no Python callable and no Python exception ever enters the state, and after a script has started the host
calls into it exactly once and takes only byte strings and numbers out. A state serves one script; the `Kit` makes the
next from our own compiled parts, never from anything that was near a script. lupa alone is no sandbox; what confines
a script is the process (child.py).
"""

from dataclasses import dataclass
from pathlib import Path

from lupa import lua51

from luaworker.codes import Code
from luaworker.layers import Layer

BACKEND = "lua51"
_LUA = Path(__file__).parent / "lua"
_NOT_CONTROL = bytes(range(32, 256))
_PARTS = ("prepare", "decode", "encode", "runner", "sandbox")
_COMPILE = b"local source, name = ... return string.dump(assert(loadstring(source, name)))"


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


def _runtime(*, open_door: bool = False) -> lua51.LuaRuntime:
    return lua51.LuaRuntime(
        encoding=None,
        register_eval=False,
        register_builtins=False,
        unpack_returned_tuples=False,
        attribute_handlers=None if open_door else (_refuse_attribute, _refuse_attribute),
        max_memory=0,  # counts, without a bound; the bound comes per call
    )


class Kit:
    """Our Lua files, compiled once, from which states are made."""

    def __init__(self, without: frozenset[Layer] = frozenset()) -> None:
        compiler = _runtime()
        self._parts = [
            compiler.execute(_COMPILE, (_LUA / f"{part}.lua").read_bytes(), f"={part}".encode())
            for part in _PARTS
        ]
        self._without = f",{','.join(without)},".encode()
        self._open_door = Layer.PYTHON_DOOR in without

    def build(self) -> "Sandbox":
        """A fresh state."""
        return Sandbox(self._parts, self._without, open_door=self._open_door)


class Sandbox:
    """One Lua state with the runner inside. Good for one script."""

    def __init__(self, parts: list[bytes], without: bytes, *, open_door: bool) -> None:
        self._lua = _runtime(open_door=open_door)
        prepare, *others = parts
        self._run = self._lua.execute(prepare, *others, without)

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
            if object_json is not None and not object_json.isascii():
                object_json.decode()
            code, result, message, traceback, line, path, log = self._run(
                script, name, object_json, clean, cpu_ms, output
            )
        except UnicodeDecodeError as problem:
            text = b"the object is not usable JSON: not UTF-8 at byte %d" % (problem.start + 1)
            return Answer(Code.BAD_INPUT, message=text)
        except (lua51.LuaMemoryError, MemoryError):
            return Answer(Code.MEMORY_LIMIT, message=name + b": memory limit exceeded")
        return Answer(Code[code.decode()], result, message, traceback, int(line), path, log)
