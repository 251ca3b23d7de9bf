"""The namespace a command means when none is given: that of the kubeconfig's context, as with kubectl.

Invariant: the same source of credentials is asked that the connection will use. Nothing here opens a connection.
"""

from pathlib import Path

import msgspec
import yaml

from controller.errors import BadConfiguration
from controller.kube.credentials import Source

DEFAULT = "default"


class _Context(msgspec.Struct, frozen=True):
    namespace: str | None = None


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    context: _Context | None = None


class _Config(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str | None = None
    contexts: tuple[_Named, ...] | None = ()


def namespace_of(source: Source) -> str:
    """The default namespace; BadConfiguration when no file or no such context can be read."""
    if source.service_account:
        return _read(Path(source.service_account, "namespace"))
    configs = [_load(path) for path in _files(source.kubeconfig)]
    wanted = source.context or next((c.current_context for c in configs if c.current_context), "")
    named = [entry for config in configs for entry in config.contexts or ()]
    found = next((entry for entry in named if entry.name == wanted), None)
    if found is None and source.context:
        known = ", ".join(entry.name for entry in named) or "none"
        raise BadConfiguration(
            f"--context {wanted}: {source.kubeconfig} has no such context; it has: {known}"
        )
    if found is None or found.context is None:
        return DEFAULT
    return found.context.namespace or DEFAULT


def _files(kubeconfig: str) -> list[Path]:
    """$KUBECONFIG may name several files; those that do not exist are left out, as kubectl does."""
    paths = [Path(part).expanduser() for part in kubeconfig.split(":") if part]
    present = [path for path in paths if path.is_file()]
    if not present:
        raise BadConfiguration(
            f"the kubeconfig {kubeconfig} does not exist: correct --kubeconfig or KUBECONFIG"
        )
    return present


def _load(path: Path) -> _Config:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")) or {}, _Config)
    except (OSError, ValueError, yaml.YAMLError, msgspec.ValidationError) as failure:
        detail = " ".join(str(failure).split())
        raise BadConfiguration(f"the kubeconfig {path} cannot be read: {detail}") from failure


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() or DEFAULT
    except OSError:
        return DEFAULT
