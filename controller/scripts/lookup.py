"""Finds the script for a kind of network object or a class of Ingress.

Invariant: no I/O after start. The packaged scripts are read once; the ConfigMap's data is an argument of each look-up,
so that an edit takes effect from the next pass on without invalidation. The order of precedence is the original's, and
the two kinds of look-up differ on purpose (B28); an explicit choice comes first. A script is returned with everything
it needs: its modules, and the text of the script that it is the same as.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import msgspec

from controller.domain.decision import OwnScript
from controller.domain.traffic.plan.header import GroupKind, ScriptHeader, parse_header
from controller.scripts.modules import FOLDER as LIBRARY
from controller.scripts.modules import Module, Modules, UnknownModule

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
    """A script and its origin. `name` is its name in messages: a path, or a key of the ConfigMap.

    `modules` are sent with every call. `about` is the text with the header, for a script that only says that it is the
    same as another one (`--@same-as`).
    """

    name: str
    text: bytes
    sha256: str
    """Hash of everything that an answer depends on: the text, the modules, the header."""
    source: Source
    modules: tuple[Module, ...] = ()
    about: bytes = b""

    @property
    def header(self) -> ScriptHeader:
        """The options in the script's header."""
        return parse_header(self.header_text)

    @property
    def header_text(self) -> str:
        """The text whose first lines are the header."""
        return (self.about or self.text).decode(errors="replace")


class MissingScript(msgspec.Struct, frozen=True):
    """No script serves this reference; the reason names the places that were searched."""

    reason: str


def asking_key(does: str, name: str) -> str:
    """The key of a script that asks, in a ConfigMap."""
    return f"lua.{does}.{name}"


def _hash(text: bytes, modules: tuple[Module, ...], about: bytes) -> str:
    whole = hashlib.sha256(text)
    for part in (*(f"{m.name}:".encode() + m.text for m in modules), about):
        if part:
            whole.update(b"\0" + hashlib.sha256(part).digest())
    return whole.hexdigest()


def path_of(kind: GroupKind) -> str:
    """The path of a kind's packaged script."""
    return f"{kind.group}/{kind.kind}/{_CUSTOM_FILE}"


def complete(
    name: str, text: bytes, source: Source, scripts: Mapping[str, bytes], modules: Modules
) -> Script | MissingScript:
    """A script with everything its header asks for; `scripts` are the packaged texts by path."""
    if b"--@use" not in text and b"--@same-as" not in text:
        return Script(name, text, hashlib.sha256(text).hexdigest(), source)
    header, about = parse_header(text.decode(errors="replace")), b""
    if header.same_as is not None:
        about, path = text, path_of(header.same_as)
        if path not in scripts:
            return MissingScript(
                f"the script {name} cannot be used: it says that it is the same as {header.same_as} (--@same-as), "
                f"for which no script is packaged"
            )
        name, text = path, scripts[path]
        header = parse_header(text.decode(errors="replace"))
    asked = modules.asked_for(header.uses)
    if isinstance(asked, UnknownModule):
        return MissingScript(f"the script {name} cannot be used: {asked.reason}")
    return Script(name, text, _hash(text, asked, about), source, asked, about)


def packaged_texts(folder: Path = FOLDER) -> dict[str, bytes]:
    """Every script of the folder, by path, without the library's modules; blocking."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.lua")
        if folder / LIBRARY not in path.parents
    }


def packaged_kinds(folder: Path = FOLDER) -> frozenset[tuple[str, str]]:
    """Group and kind of every kind with a packaged script; Ingresses have one for each class instead."""
    paths = (path.relative_to(folder).parts for path in folder.glob(f"*/*/{_CUSTOM_FILE}"))
    return frozenset((group, kind) for group, kind, _ in paths)


class ScriptLibrary:
    """The packaged scripts, and the rules by which a ConfigMap adds to them."""

    def __init__(self, packaged: Mapping[str, bytes], modules: Modules | None = None) -> None:
        """`packaged` maps paths inside the folder, such as `networking.istio.io/VirtualService/trafficRouting.lua`."""
        self._texts = packaged
        self._modules = modules or Modules({})
        self._packaged = {
            path: complete(path, text, "packaged", packaged, self._modules)
            for path, text in sorted(packaged.items())
        }

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        """Reads every script of the folder; blocking, for the start of a process."""
        return cls(packaged_texts(folder), Modules.read(folder))

    @property
    def packaged(self) -> tuple[Script, ...]:
        """All packaged scripts, by path; a script that equals another one has the other's name."""
        return tuple(item for item in self._packaged.values() if isinstance(item, Script))

    def configured(self, key: str, text: str) -> Script | MissingScript:
        """The script under a key of the ConfigMap, or the unknown modules that it asks for."""
        return complete(key, text.encode(errors="replace"), "configMap", self._texts, self._modules)

    def resolve_custom(
        self, group: str, kind: str, choice: Choice, config_map: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The script of a kind; `group` is the part of apiVersion before the slash, or all of it (`v1`)."""
        path = f"{group}/{kind}/{_CUSTOM_FILE}"
        key = f"{_KEY_PREFIX}{kind}.{group}"
        return self._resolve(f"{kind} of {group}", path, key, choice, config_map, first="packaged")

    def resolve_own(
        self, own: OwnScript, group: str, kind: str, data: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The script of a namespace for a kind; `data` is its ConfigMap's, None if there is none."""
        key = own.key or f"{_KEY_PREFIX}{kind}.{group}"
        return self._own(own, key, f"{kind} of {group}", data)

    def _own(
        self, own: OwnScript, key: str, what: str, data: Mapping[str, str] | None
    ) -> Script | MissingScript:
        where = f"ConfigMap {own.config_map_key}"
        if data is None:
            return MissingScript(f"{where}, which scriptRef names, does not exist: create it")
        text = data.get(key, "")
        if not text.strip():
            return MissingScript(
                f"no script for {what} in key {key} of {where}: add the key, or name another one "
                "(scriptRef.key)"
            )
        return complete(
            f"{key} of {where}",
            text.encode(errors="replace"),
            "configMap",
            self._texts,
            self._modules,
        )

    def resolve_asking(
        self, does: str, name: str, config_map: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The script of a source, a check or a target; the ConfigMap's outranks the packaged one."""
        key = asking_key(does, name)
        return self._resolve(
            f"{does} {name}", f"{does}/{name}.lua", key, "auto", config_map, first="configMap"
        )

    def resolve_own_asking(
        self, own: OwnScript, does: str, name: str, data: Mapping[str, str] | None
    ) -> Script | MissingScript:
        """The same among the scripts of a namespace; `data` is its ConfigMap's, None if there is none."""
        return self._own(own, own.key or asking_key(does, name), f"{does} {name}", data)

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
        configured = self.configured(key, text) if text.strip() else None
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
