"""The two classes of kr8s that we build on, imported without the parts of kr8s that our processes leave unused.

Why it exists: half of the memory that kr8s takes is the command line of httpx, WebSockets, paths into JSON, and
certificates. httpx does without its command line if that cannot be imported; kr8s gets the others as modules that are
loaded when it uses them. Invariants: a library that the process has loaded before stays as it is, and whoever imports
one of them later gets the whole library; all of kr8s works. Nothing else in `controller` imports kr8s.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, cast

_modules = cast(dict[str, Any], sys.modules)


class _LoadedWhenUsed(ModuleType):
    """Stands in kr8s for a library until kr8s asks for a part of it."""

    def __getattr__(self, part: str) -> object:
        return getattr(import_module(self.__name__), part)


_STAND_INS: dict[str, ModuleType | None] = {
    # Python's own way to say that a module cannot be imported
    "httpx._main": None,
    "httpx_ws": _LoadedWhenUsed("httpx_ws"),
    "jsonpath": _LoadedWhenUsed("jsonpath"),
    "cryptography.x509": _LoadedWhenUsed("cryptography.x509"),
}
_used = {
    name: stand_in
    for name, stand_in in _STAND_INS.items()
    if name.partition(".")[0] not in _modules
}
_modules.update(_used)

from kr8s.asyncio import Api  # noqa: E402 - after the lines above
from kr8s.asyncio.objects import APIObject  # noqa: E402

for _name in _used:
    del _modules[_name]

__all__ = ["APIObject", "Api"]
