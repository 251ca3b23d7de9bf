"""The prepared Lua state: engine, codec, runner and the stripped world, inherited by every child.

Invariant: no Python callable and no Python exception ever enters the state, and after a script has started the host
calls into it exactly once and takes only byte strings and numbers out. A state serves one script; the `Kit` makes the
next from our own compiled parts, never from anything that was near a script. The packaged library is one of these: a
module of a call that is, byte for byte, a file of ours is loaded as the zygote compiled it; any other is compiled in
its child, like the script. lupa alone is no sandbox; the process (child.py) confines a script.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lupa import lua51

from luaworker.codes import Code
from luaworker.layers import Layer
from luaworker.wire import Module

BACKEND = "lua51"
_LUA = Path(__file__).parent / "lua"
LIBRARY = Path(__file__).resolve().parent.parent / "lua_configuration" / "library"
_NOT_CONTROL = bytes(range(32, 256))
_PARTS = ("prepare", "decode", "encode", "runner", "sandbox")
_COMPILE = b"local source, name = ... return string.dump(assert(loadstring(source, name)))"


@dataclass(frozen=True, slots=True)
class Answer:
    """The runner's return value, unchecked."""

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

    def __init__(
        self, without: frozenset[Layer] = frozenset(), library: Path | None = LIBRARY
    ) -> None:
        compiler = _runtime()

        def compiled(path: Path, name: str) -> bytes:
            code: bytes = compiler.execute(_COMPILE, path.read_bytes(), f"={name}".encode())
            return code

        self._parts = [compiled(_LUA / f"{part}.lua", part) for part in _PARTS]
        # By name and text: whoever sends our text under another name gets it compiled under that name.
        self._library = {
            (path.stem.encode(), path.read_bytes()): compiled(path, f"library/{path.stem}")
            for path in sorted(library.glob("*.lua") if library is not None else ())
        }
        self._without = f",{','.join(without)},".encode()
        self._open_door = Layer.PYTHON_DOOR in without

    @property
    def compiled(self) -> frozenset[tuple[bytes, bytes]]:
        """Names and texts of the modules that no call has to compile."""
        return frozenset(self._library)

    def build(self) -> "Sandbox":
        """A fresh state."""
        return Sandbox(self._parts, self._without, self._library, open_door=self._open_door)


class Sandbox:
    """One Lua state with the runner inside. Good for one script."""

    def __init__(
        self,
        parts: list[bytes],
        without: bytes,
        library: Mapping[tuple[bytes, bytes], bytes],
        *,
        open_door: bool,
    ) -> None:
        self._library = library
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

    def _loadable(self, modules: Sequence[Module]) -> Iterator[bytes | bool]:
        """Of each module its name, its code, whether that is ours and compiled, and whether the script is to see it."""
        for module in modules:
            ours = self._library.get((module.name, module.text))
            yield from (module.name, ours or module.text, ours is not None, not module.hidden)

    def run(
        self,
        script: bytes,
        name: bytes,
        object_json: bytes | None,
        cpu_ms: int,
        output: int,
        modules: Sequence[Module] = (),
    ) -> Answer:
        """Runs the script over the object; compiles only where there is none. May end the process instead."""
        clean = object_json is not None and not object_json.translate(None, _NOT_CONTROL)
        try:
            if object_json is not None and not object_json.isascii():
                object_json.decode()
            code, result, message, traceback, line, path, log = self._run(
                script, name, object_json, clean, cpu_ms, output, *self._loadable(modules)
            )
        except UnicodeDecodeError as problem:
            text = b"the object is not usable JSON: not UTF-8 at byte %d" % (problem.start + 1)
            return Answer(Code.BAD_INPUT, message=text)
        except (lua51.LuaMemoryError, MemoryError):
            return Answer(Code.MEMORY_LIMIT, message=name + b": memory limit exceeded")
        return Answer(Code[code.decode()], result, message, traceback, int(line), path, log)
