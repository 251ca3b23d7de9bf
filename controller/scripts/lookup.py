"""Which script serves a kind of network object or a class of Ingress.

Invariant: no I/O after start. The packaged scripts are read once; the ConfigMap's data is handed in with each
question, so that an edit counts from the next pass on and nothing has to be invalidated. The order of precedence is
the original's, the two kinds of look-up differing on purpose (B28); an explicit choice goes before it.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

Source = Literal["packaged", "configMap"]
Choice = Literal["auto", "packaged", "configMap"]

CONFIG_MAP = "kruise-rollout-configuration"
FOLDER = Path(__file__).resolve().parent.parent.parent / "lua_configuration"

_KEY_PREFIX = "lua.traffic.routing."
_INGRESS = "ingress"
_INGRESS_FOLDER = "trafficrouting_ingress"
_CUSTOM_FILE = "trafficRouting.lua"
DEFAULT_CLASS = "nginx"


class Script(msgspec.Struct, frozen=True):
    """A script and where it comes from. `name` is what messages call it: a path, or a key of the ConfigMap."""

    name: str
    text: bytes
    sha256: str
    source: Source


class MissingScript(msgspec.Struct, frozen=True):
    """No script serves this; the reason says where one was looked for."""

    reason: str


def _script(name: str, text: bytes, source: Source) -> Script:
    return Script(name, text, hashlib.sha256(text).hexdigest(), source)


class ScriptLibrary:
    """The packaged scripts, and the rules by which a ConfigMap adds to them."""

    def __init__(self, packaged: Mapping[str, bytes]) -> None:
        """`packaged` maps paths inside the folder, such as `networking.istio.io/VirtualService/trafficRouting.lua`."""
        self._packaged = {
            path: _script(path, text, "packaged") for path, text in sorted(packaged.items())
        }

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        """Reads every script of the folder; blocking, for the start of a process."""
        return cls(
            {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.lua")}
        )

    @property
    def packaged(self) -> tuple[Script, ...]:
        """All packaged scripts, by path."""
        return tuple(self._packaged.values())

    def resolve_custom(
        self, group: str, kind: str, choice: Choice, config_map: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The script of a kind; `group` is what stands before the slash of apiVersion, or all of it (`v1`)."""
        path = f"{group}/{kind}/{_CUSTOM_FILE}"
        key = f"{_KEY_PREFIX}{kind}.{group}"
        return self._resolve(f"{kind} of {group}", path, key, choice, config_map, first="packaged")

    def resolve_ingress(
        self, class_type: str, choice: Choice, config_map: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The script of an Ingress class; no class is nginx."""
        class_type = class_type or DEFAULT_CLASS
        path = f"{_INGRESS_FOLDER}/{class_type}.lua"
        key = f"{_KEY_PREFIX}{_INGRESS}.{class_type}"
        what = f"the Ingress class {class_type}"
        return self._resolve(what, path, key, choice, config_map, first="configMap")

    def _resolve(
        self,
        what: str,
        path: str,
        key: str,
        choice: Choice,
        config_map: Mapping[str, str] | None,
        *,
        first: Source,
    ) -> Script | MissingScript:
        packaged = self._packaged.get(path)
        text = (config_map or {}).get(key, "")
        # An empty value is no script: the original runs it for custom kinds, and then wonders about its answer.
        configured = _script(key, text.encode(), "configMap") if text.strip() else None
        if choice == "packaged":
            return packaged or MissingScript(f"no packaged script for {what}: there is no {path}")
        where = f"key {key} of ConfigMap {CONFIG_MAP}"
        absent = "" if config_map is not None else ", which does not exist"
        if choice == "configMap":
            return configured or MissingScript(f"no script for {what} in {where}{absent}")
        found = (packaged or configured) if first == "packaged" else (configured or packaged)
        return found or MissingScript(
            f"no script for {what}: neither packaged as {path} nor in {where}{absent}"
        )

    def shadowed(self, config_map: Mapping[str, str] | None) -> tuple[str, ...]:
        """Keys of the ConfigMap that a packaged script hides unless a reference chooses otherwise."""
        return tuple(
            key for key in sorted(config_map or {}) if self._custom_path(key) in self._packaged
        )

    @staticmethod
    def _custom_path(key: str) -> str:
        kind, _, group = key.removeprefix(_KEY_PREFIX).partition(".")
        if not key.startswith(_KEY_PREFIX) or kind == _INGRESS or not group:
            return ""
        return f"{group}/{kind}/{_CUSTOM_FILE}"
