"""Gateway objects in memory, with the API server's rules: versions that must fit, names that are taken.

Why: what a release would write into a gateway object is found out by the real effect and the real worker; only the
server is missing. Invariant: objects are told apart by group, kind and name, as there; nothing is defaulted.
"""

from controller.api import names
from controller.domain.decision import Reference
from controller.domain.traffic.original import strings_of
from controller.domain.traffic.tree import Json, Tree, decode_tree, encode
from controller.effects.gateways import Scope
from controller.errors import AlreadyExists, Conflict, NotFound

Place = tuple[str, str, str]
"""Group, kind and name."""


def place_of(reference: Reference) -> Place:
    """Where a reference's object lies."""
    return (reference.group, reference.kind, reference.name)


class GatewayStore:
    """What effects need of an API server."""

    def __init__(self, objects: tuple[Tree, ...] = ()) -> None:
        self.objects: dict[Place, Tree] = {}
        self._version = 0
        for item in objects:
            group, slash, _ = str(item.get("apiVersion", "")).partition("/")
            name = _meta(item).get("name")
            self._put((group if slash else "", str(item.get("kind")), str(name)), item)

    def _put(self, place: Place, item: Tree) -> bytes:
        self._version += 1
        metadata: Tree = {**_meta(item), "resourceVersion": str(self._version)}
        metadata.setdefault("uid", f"uid-{self._version}")
        self.objects[place] = {**item, "metadata": metadata}
        return encode(self.objects[place])

    async def scope(self, reference: Reference) -> Scope | None:
        """Every kind is served, and lives in namespaces: whether it does in a cluster is not known here."""
        return Scope.NAMESPACED

    async def read(self, reference: Reference, namespace: str) -> bytes:
        """The object. Raises NotFound."""
        return encode(self._found(reference))

    def _found(self, reference: Reference) -> Tree:
        found = self.objects.get(place_of(reference))
        if found is None:
            raise NotFound(f"{reference} is not there", status=404)
        return found

    async def replace(self, reference: Reference, namespace: str, body: bytes) -> bytes:
        """PUT. Raises NotFound, Conflict."""
        new, old = decode_tree(body), self._found(reference)
        if _meta(new).get("resourceVersion") != _meta(old).get("resourceVersion"):
            raise Conflict(f"{reference} was changed", status=409)
        return self._put(place_of(reference), new)

    async def disown(self, reference: Reference, namespace: str, stored: bytes) -> None:
        """Nobody owns fields here."""

    async def made_for(
        self, kind: Reference, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        """What was made for a Rollout."""
        return tuple(
            encode(item)
            for (group, name, _), item in self.objects.items()
            if (group, name) == (kind.group, kind.kind)
            and strings_of(_meta(item).get("labels")).get(names.ROLLOUT_UID) == rollout_uid
        )

    async def create(self, kind: Reference, namespace: str, body: bytes) -> None:
        """POST. Raises AlreadyExists."""
        if place_of(kind) in self.objects:
            raise AlreadyExists(f"{kind} is there", status=409)
        self._put(place_of(kind), decode_tree(body))

    async def remove(self, kind: Reference, namespace: str, name: str, uid: str) -> None:
        """DELETE."""
        self.objects.pop((kind.group, kind.kind, name), None)


def _meta(item: Tree) -> Tree:
    metadata: Json = item.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
