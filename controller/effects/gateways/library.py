"""A reference's script out of the script library.

Invariant: the ConfigMap is asked for at each look-up, so that an edit counts from the next pass on.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from controller.domain.decision import Reference
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary

ConfigMapData = Callable[[], Mapping[str, str] | None]
"""Data of the ConfigMap of scripts as it is now; None when it does not exist."""


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

    def resolve(self, reference: Reference) -> Script | MissingScript:
        """The script, or where it was looked for in vain."""
        choice, data = _choice(reference), self._config_map()
        if reference.class_type:
            return self._library.resolve_ingress(reference.class_type, choice, data)
        # The core group goes by its version, as the original has it.
        group = reference.group or reference.api_version
        return self._library.resolve_custom(group, reference.kind, choice, data)
