"""Scripts that ask, for a gate that is tried: packaged ones, those of the given files, and those of the cluster.

Invariant: files outrank the cluster. A script and its objects are read with the rights of the person who tries the
gate, so the ServiceAccount of a namespace's script is not asked. A ConfigMap of the installation that this person may
not read hides no packaged script.
"""

from collections.abc import Iterable, Mapping

import msgspec

from controller.api.decoding import decoded
from controller.api.meta import Key
from controller.cli.failures import explain
from controller.cli.reading.home import controller_namespace
from controller.cli.reading.session import Session
from controller.cli.simulation.manifests import config_map, own_config_map
from controller.domain.availability import Failing, Unavailable
from controller.domain.decision import OwnScript
from controller.domain.traffic.tree import Tree
from controller.errors import MoonshiftError, NotFound, Right
from controller.kube.resources import CONFIG_MAPS
from controller.scripts.lookup import CONFIG_MAP, MissingScript, Script, ScriptLibrary

Data = Mapping[str, str] | Unavailable | None
"""Of a ConfigMap; None if there is none."""


class FoundScripts(msgspec.Struct, frozen=True):
    """The ConfigMaps with scripts that a gate may name."""

    installation: Data = None
    of_namespaces: Mapping[Key, Data] = {}
    in_cluster: bool = False

    def find(self, does: str, name: str, own: OwnScript | None) -> Script | MissingScript:
        """The script, or how it can be given."""
        if own is not None:
            return self._own(does, name, own)
        data = None if isinstance(self.installation, Unavailable) else self.installation
        found = ScriptLibrary.read().resolve_asking(does, name, data)
        if isinstance(found, Script):
            return found
        if isinstance(self.installation, Unavailable):
            why = f"ConfigMap {CONFIG_MAP} cannot be read: {self.installation.message}"
            return MissingScript(f"no script for {does} {name} is packaged, and {why}")
        if self.in_cluster or data is not None:
            return found
        return MissingScript(
            f"no script for {does} {name} is packaged; if it is yours, give the ConfigMap {CONFIG_MAP} with -f, too"
        )

    def _own(self, does: str, name: str, own: OwnScript) -> Script | MissingScript:
        data = self.of_namespaces.get(own.config_map_key)
        if isinstance(data, Unavailable):
            return MissingScript(f"ConfigMap {own.config_map_key} cannot be read: {data.message}")
        if data is None and not self.in_cluster:
            return MissingScript(
                f"ConfigMap {own.config_map_key}, which scriptRef names, is not among the files: give it with -f, too"
            )
        return ScriptLibrary.read().resolve_own_asking(own, does, name, data)


async def found_scripts(
    objects: Iterable[Tree], named: Iterable[OwnScript], session: Session | None
) -> FoundScripts:
    """The ConfigMaps among the objects, then those of the cluster; `named` are scripts of namespaces."""
    given = list(objects)
    installation: Data = config_map(given)
    if installation is None and session is not None:
        home = Key(await controller_namespace(session), CONFIG_MAP)
        installation = await _live(session, home)
    of_namespaces: dict[Key, Data] = {}
    for key in {own.config_map_key for own in named}:
        data: Data = own_config_map(given, key)
        if data is None and session is not None:
            data = await _live(session, key)
        of_namespaces[key] = data
    return FoundScripts(installation, of_namespaces, session is not None)


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


async def _live(session: Session, key: Key) -> Data:
    try:
        body = await session.client.get(CONFIG_MAPS, key.namespace, key.name)
    except NotFound:
        return None
    except MoonshiftError as failure:
        return Failing(explain(failure))
    return decoded(body, _ConfigMap).data or {}


class ThisPerson:
    """The person's own rights: whatever this person may not read is not read."""

    async def may(self, right: Right) -> bool:
        """Yes: the API server answers when the object is read."""
        return True
