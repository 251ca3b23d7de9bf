"""The prepared Lua state: engine, codec, runner and the reduced set of globals; every child inherits it.

Invariant: no Python callable and no Python exception ever enters the state, and after a script has started the host
calls into it exactly once and takes only byte strings and numbers out. A state serves one script. `CompiledFiles` makes
the next state from our own compiled files, never from data that a script could reach. The packaged library is part of
these files: if a module of a call is, byte for byte, one of our files, the code that the zygote compiled is used, or
the module is loaded already; every other module is compiled in the child, like the script. lupa alone is no sandbox;
the process (child.py) confines a script.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lupa import lua51

from luaworker.codes import Code
from luaworker.fingerprint import fingerprint
from luaworker.layers import Layer
from luaworker.wire import Module

BACKEND = "lua51"
_HERE = os.path.dirname(os.path.abspath(__file__))
_LUA = os.path.join(_HERE, "lua")
LIBRARY = os.path.join(os.path.dirname(_HERE), "lua_configuration", "library")
_NOT_CONTROL = bytes(range(32, 256))
_PARTS = ("prepare", "decode", "encode", "runner", "sandbox")
_CODES = {code.name.encode(): code for code in Code}
_COMPILE = b"local source, name = ... return string.dump(assert(loadstring(source, name)))"


class Answer(NamedTuple):
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
        max_memory=0,  # counts, without a limit; each call sets the limit
    )


def _read(folder: str, name: str) -> bytes:
    # No pathlib: with its own imports it would be a tenth of a zygote's memory.
    with open(os.path.join(folder, f"{name}.lua"), "rb") as file:
        return file.read()


def _texts(folder: str | None) -> Iterator[tuple[str, bytes]]:
    """Name and text of each Lua file of a folder; none if the folder does not exist."""
    found = os.listdir(folder) if folder is not None and os.path.isdir(folder) else []
    for name, extension in map(os.path.splitext, sorted(found)):
        if folder is not None and extension == ".lua":
            yield name, _read(folder, name)


class CompiledFiles:
    """Our Lua files, compiled once, from which states are made."""

    def __init__(
        self, without: frozenset[Layer] = frozenset(), library: str | None = LIBRARY
    ) -> None:
        compiler = _runtime()

        def compiled(text: bytes, name: str) -> bytes:
            code: bytes = compiler.execute(_COMPILE, text, f"={name}".encode())
            return code

        self._parts = [compiled(_read(_LUA, part), part) for part in _PARTS]
        # By name and text: our text under another name is compiled under that name.
        self._library = {
            (name.encode(), text): compiled(text, f"library/{name}")
            for name, text in _texts(library)
        }
        self._by_name = {name: code for (name, _), code in self._library.items()}
        self.fingerprint = fingerprint(self._library)
        self._without = f",{','.join(without)},".encode()
        self._open_door = Layer.PYTHON_DOOR in without

    @property
    def compiled(self) -> frozenset[tuple[bytes, bytes]]:
        """Names and texts of the modules that are compiled already."""
        return frozenset(self._library)

    def build(self, *, stocked: bool = False) -> "Sandbox":
        """A new state. If it is `stocked`, all our modules are loaded, and it takes longer to make."""
        parts = self._parts, self._without
        stock = self._by_name if stocked else {}
        known = self._library, self._by_name
        return Sandbox(*parts, *known, stock, open_door=self._open_door)


class Sandbox:
    """One Lua state with the runner inside. Good for one script."""

    def __init__(
        self,
        parts: list[bytes],
        without: bytes,
        library: Mapping[tuple[bytes, bytes], bytes],
        by_name: Mapping[bytes, bytes],
        stock: Mapping[bytes, bytes],
        *,
        open_door: bool,
    ) -> None:
        self._library = library
        self._by_name = by_name
        self._stocked = bool(stock)
        self._lua = _runtime(open_door=open_door)
        prepare, *others = parts
        loaded = (part for module in stock.items() for part in module)
        self._run = self._lua.execute(prepare, *others, without, *loaded)

    def limit_memory(self, size: int) -> None:
        """Bounds the memory of the state."""
        self._lua.set_max_memory(size)

    @property
    def memory(self) -> int:
        """Bytes the state holds now."""
        return int(self._lua.get_memory_used())

    def _loadable(self, modules: Sequence[Module]) -> list[bytes | bool]:
        """For each module: its name, its code, whether this is our compiled code, and whether the script may see the
        module."""
        loadable: list[bytes | bool] = []
        for name, text, hidden, _, is_ours in modules:
            ours = self._by_name[name] if is_ours else self._library.get((name, text))
            code = text if ours is None else b"" if self._stocked else ours
            loadable += (name, code, ours is not None, not hidden)
        return loadable

    def run(
        self,
        script: bytes,
        name: bytes,
        object_json: bytes | None,
        cpu_ms: int,
        output: int,
        modules: Sequence[Module] = (),
    ) -> Answer:
        """Runs the script over the object; without an object it only compiles the script. May end the process
        instead."""
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
        return Answer(_CODES[code], result, message, traceback, int(line), path, log)
