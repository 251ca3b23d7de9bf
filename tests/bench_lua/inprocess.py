"""The yardstick: lupa as its documentation shows it, in this very process, with no protection at all.

A fresh runtime per call, the object handed over by `table_from`, the result taken back table by table. It loses types
(empty arrays, large integers, nulls) and can be taken over by any script; it is here only to be compared with.
"""

import json
import time
from typing import Any

from lupa import lua51

from controller.scripts.lookup import Script
from tests.bench_lua.figures import Figures


def _python(value: Any) -> Any:
    if lua51.lua_type(value) != "table":
        return value
    keys = list(value)
    if keys and all(isinstance(key, int) for key in keys):
        return [_python(value[key]) for key in keys]
    return {key: _python(value[key]) for key in keys}


def call(script: str, object_json: bytes) -> bytes:
    """One call, bytes in and bytes out, as the worker does it."""
    lua = lua51.LuaRuntime()
    lua.globals()["obj"] = lua.table_from(json.loads(object_json), recursive=True)
    return json.dumps(_python(lua.execute(script))).encode()


def _with_modules(script: Script) -> str:
    """One text with all that the script needs, as somebody without our worker would have to make it."""
    parts = [f"{m.name} = (function() {m.text.decode()} end)()" for m in script.modules]
    return "\n".join([*parts, script.text.decode()])


def measure(script: Script, object_json: bytes, calls: int) -> Figures:
    """Latency and CPU of calls one after the other."""
    text = _with_modules(script)
    call(text, object_json)
    seconds = []
    cpu = time.process_time()
    for _ in range(calls):
        began = time.perf_counter()
        call(text, object_json)
        seconds.append(time.perf_counter() - began)
    return Figures(tuple(seconds), time.process_time() - cpu)
