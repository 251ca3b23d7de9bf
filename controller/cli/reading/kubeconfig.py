"""The namespace of a command without `--namespace`: that of the kubeconfig's context, as with kubectl.

Invariant: it is read from the same source of credentials that the connection will use. Nothing here opens a connection.
"""

from pathlib import Path

from controller.kube.credentials import Source
from controller.kube.kubeconfig import DEFAULT_NAMESPACE, choose, read


def namespace_of(source: Source) -> str:
    """The default namespace; BadConfiguration when no file or no such context can be read."""
    if source.service_account:
        return _read(Path(source.service_account, "namespace"))
    return choose(read(source.kubeconfig), source.context, source.cluster, source.user).namespace


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE
