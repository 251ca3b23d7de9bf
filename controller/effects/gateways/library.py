"""Finds a reference's script among the packaged scripts, the ConfigMap, and the ConfigMaps of namespaces.

Invariant: a ConfigMap is read at each look-up, so that an edit takes effect from the next pass on. A reference to a
script of its namespace gets that one or none, and no other reference does.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from controller.api.meta import Key
from controller.domain.availability import Failing, Forbidden, Unavailable
from controller.domain.decision import OwnScript, Reference
from controller.domain.traffic.plan.header import ScriptHeader
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary

ConfigMapData = Callable[[], Mapping[str, str] | None]
"""Present data of the ConfigMap of scripts; None when it does not exist."""

OwnData = Callable[[Key], Mapping[str, str] | Unavailable | None]
"""Present data of a ConfigMap of a namespace; None when it does not exist, or why it is not known."""

_READ_IT = (
    "let the controller's ServiceAccount get, list and watch it by a Role and a RoleBinding of the namespace "
    "(examples/own-script)"
)

MAX_REMEMBERED = 1000
"""Number of script headers that are remembered."""


def _choice(reference: Reference) -> Literal["auto", "packaged", "configMap"]:
    match reference.script:
        case "packaged":
            return "packaged"
        case "configMap":
            return "configMap"
        case _:
            return "auto"


def _no_own(key: Key) -> Unavailable:
    return Failing("scripts of namespaces are not read here")


class ConfiguredScripts:
    """The packaged scripts and the scripts of the ConfigMaps, by reference."""

    def __init__(
        self, library: ScriptLibrary, config_map: ConfigMapData, own: OwnData = _no_own
    ) -> None:
        self.library = library
        self._config_map = config_map
        self._own = own
        self._headers: dict[str, ScriptHeader] = {}

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script, or the places where it was not found."""
        choice, data = _choice(reference), self._config_map()
        if reference.class_type:
            return self.library.resolve_ingress(reference.class_type, choice, data)
        # The core group is named by its version, as in the original.
        group = reference.group or reference.api_version
        if (own := reference.own_script) is not None:
            found = self._own(own.config_map_key)
            if isinstance(found, Unavailable):
                return MissingScript(_unread(own, found))
            return self.library.resolve_own(own, group, reference.kind, found)
        return self.library.resolve_custom(group, reference.kind, choice, data)

    def resolve_asking(
        self, does: str, name: str, own: OwnScript | None = None
    ) -> Script | MissingScript:
        """The script of a source, a check or a target; `own` is one of the namespace's ConfigMap."""
        if own is None:
            return self.library.resolve_asking(does, name, self._config_map())
        found = self._own(own.config_map_key)
        if isinstance(found, Unavailable):
            return MissingScript(_unread(own, found))
        return self.library.resolve_own_asking(own, does, name, found)

    def missing(self, reference: Reference) -> str:
        """The places where the script was not found; empty if there is one."""
        script = self.resolve(reference)
        return script.reason if isinstance(script, MissingScript) else ""

    def header(self, reference: Reference) -> ScriptHeader | None:
        """The header of the reference's script; None if there is no script. Parsed once for each text."""
        script = self.resolve(reference)
        if isinstance(script, MissingScript):
            return None
        known = self._headers.get(script.sha256)
        if known is None:
            if len(self._headers) >= MAX_REMEMBERED:
                self._headers.clear()
            known = script.header
            self._headers[script.sha256] = known
        return known


def _unread(own: OwnScript, why: Unavailable) -> str:
    text = f"ConfigMap {own.config_map_key}, which scriptRef names, cannot be read: {why.message}"
    return f"{text}; {_READ_IT}" if isinstance(why, Forbidden) else text
