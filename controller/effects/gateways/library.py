"""A reference's script out of the script library.

Invariant: the ConfigMap is asked for at each look-up, so that an edit counts from the next pass on.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from controller.domain.decision import Reference
from controller.domain.traffic.header import ScriptHeader
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary

ConfigMapData = Callable[[], Mapping[str, str] | None]
"""Data of the ConfigMap of scripts as it is now; None when it does not exist."""

MAX_REMEMBERED = 1000
"""Headers of scripts that are remembered."""


def _choice(reference: Reference) -> Literal["auto", "packaged", "configMap"]:
    match reference.script:
        case "packaged":
            return "packaged"
        case "configMap":
            return "configMap"
        case _:
            return "auto"


class ConfiguredScripts:
    """The packaged scripts and those of the ConfigMap, by reference."""

    def __init__(self, library: ScriptLibrary, config_map: ConfigMapData) -> None:
        self._library = library
        self._config_map = config_map
        self._headers: dict[str, ScriptHeader] = {}

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script, or where it was looked for in vain."""
        choice, data = _choice(reference), self._config_map()
        if reference.class_type:
            return self._library.resolve_ingress(reference.class_type, choice, data)
        # The core group goes by its version, as the original has it.
        group = reference.group or reference.api_version
        return self._library.resolve_custom(group, reference.kind, choice, data)

    def missing(self, reference: Reference) -> str:
        """Where the script was looked for in vain; empty where there is one."""
        script = self.resolve(reference)
        return script.reason if isinstance(script, MissingScript) else ""

    def header(self, reference: Reference) -> ScriptHeader | None:
        """What the reference's script says of itself; None where there is no script. Read once for each text."""
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
