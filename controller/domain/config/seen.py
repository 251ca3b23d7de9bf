"""The observed ConfigMaps and Secrets that a workload's pods read.

Invariant: digests only. An object that is not known yet is never taken for one that does not exist: then all of it is
`ConfigUnwatched`, with the reason in words.
"""

from collections.abc import Callable, Iterable

from controller.api.config import ConfigKind, ConfigObject
from controller.api.names import KEPT_CONFIG_OF, TRACK_CONFIG
from controller.api.workloads import safe_hash
from controller.domain.config.references import ConfigReference, referenced, stamp_of
from controller.domain.decision import Value

TRACKING_IS_OFF = (
    f"the annotation {TRACK_CONFIG} asks for changed ConfigMaps and Secrets to be released, and this controller was "
    "started without --track-config: ask your administrator for it, or remove the annotation"
)


class ConfigSeen(Value, frozen=True):
    """One object that pods read; without a digest there is none of its name."""

    reference: ConfigReference
    digest: str = ""
    immutable: bool = False
    resource_version: str = ""

    @property
    def name(self) -> str:
        """How it is written down."""
        return str(self.reference)


class KeptConfig(Value, frozen=True):
    """A copy of ours: `source` is `Kind/name` of the copied object."""

    kind: ConfigKind
    name: str
    uid: str
    source: str
    digest: str


class ConfigWatched(Value, frozen=True, tag=True):
    """All tracked objects that the present template refers to, its stamp, our copies, and the Secrets whose owners do
    not ask for releases."""

    objects: tuple[ConfigSeen, ...] = ()
    stamp: str = ""
    copies: tuple[KeptConfig, ...] = ()
    unasked: tuple[str, ...] = ()

    def copy_of(self, source: str) -> KeptConfig | None:
        """Our copy of an object."""
        return next((kept for kept in self.copies if kept.source == source), None)

    @property
    def digest(self) -> str:
        """Identity of everything that pods read."""
        parts = "\n".join(f"{found.name}={found.digest}" for found in self.objects)
        return safe_hash(parts.encode())


class ConfigUnwatched(Value, frozen=True, tag=True):
    """Nothing is known of their content: it was asked for, and is not watched, or cannot be."""

    reason: str
    message: str


ConfigState = ConfigWatched | ConfigUnwatched

Find = Callable[[ConfigKind, str], ConfigObject | None]
"""An object of the workload's namespace by its name."""


def see_config(
    template: bytes,
    kinds: frozenset[ConfigKind],
    find: Find,
    copies: Iterable[tuple[ConfigKind, ConfigObject]],
) -> ConfigWatched:
    """The objects of tracked kinds that pods of the template (raw JSON) read."""
    seen, unasked = [], []
    for reference in referenced(template):
        if reference.kind not in kinds:
            continue
        found = find(reference.kind, reference.name)
        if found is None:
            seen.append(ConfigSeen(reference))
        elif not found.left_out(reference.kind):
            version = found.metadata.resource_version
            seen.append(ConfigSeen(reference, found.digest, bool(found.immutable), version))
        elif TRACK_CONFIG not in found.metadata.annotations and reference.kind is ConfigKind.SECRET:
            unasked.append(str(reference))
    kept = (
        KeptConfig(
            kind,
            found.metadata.name,
            found.metadata.uid,
            found.metadata.annotations.get(KEPT_CONFIG_OF, ""),
            found.digest,
        )
        for kind, found in copies
    )
    return ConfigWatched(tuple(seen), stamp_of(template), tuple(kept), tuple(unasked))
