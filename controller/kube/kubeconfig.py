"""Reads a kubeconfig: server, user and namespace.

Why our own: people run kubectl and this with the same files, so they are read as kubectl reads them. Invariants: of
several files the first one with an entry wins, for the whole entry; a relative path is relative to its file's
directory; an error names the file and never quotes its content, which may be a secret. Nothing here opens
a connection or runs a program.
"""

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from controller.errors import BadConfiguration

DEFAULT_NAMESPACE = "default"


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    """Where the API server is."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: tuple[dict[str, Any], ...] = ()


class Variable(msgspec.Struct, frozen=True):
    """One more variable of a log-in program's environment."""

    name: str
    value: str = ""


class Program(msgspec.Struct, frozen=True, rename="camel"):
    """A program that prints credentials."""

    api_version: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class Provider(msgspec.Struct, frozen=True):
    """The predecessor of log-in programs."""

    name: str = ""
    config: dict[str, str] = {}


class User(msgspec.Struct, frozen=True, rename="kebab"):
    """Credentials, and the user to impersonate."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: Program | None = None
    auth_provider: Provider | None = None
    impersonate: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class Context(msgspec.Struct, frozen=True):
    """Names of a cluster and a user."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


class Kubeconfig(msgspec.Struct, frozen=True):
    """All files as one; paths are absolute."""

    named: str
    current_context: str
    clusters: dict[str, Cluster]
    users: dict[str, User]
    contexts: dict[str, Context]


class Chosen(msgspec.Struct, frozen=True):
    """The part of a kubeconfig that one process uses."""

    cluster: Cluster
    user: User
    namespace: str


_E = TypeVar("_E", Cluster, User, Context)


def read(kubeconfig: str) -> Kubeconfig:
    """The files of a list like $KUBECONFIG; missing files are left out, but at least one must exist."""
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    current = ""
    for path in _present(kubeconfig):
        file, base = _load(path), path.absolute().parent
        current = current or file.current_context
        _add(clusters, [(n.name, _cluster_at(base, n.cluster)) for n in file.clusters], path)
        _add(users, [(n.name, _user_at(base, n.user)) for n in file.users], path)
        _add(contexts, [(n.name, n.context) for n in file.contexts], path)
    return Kubeconfig(kubeconfig, current, clusters, users, contexts)


def choose(
    config: Kubeconfig, context: str | None, cluster: str | None = None, user: str | None = None
) -> Chosen:
    """The cluster and the user of a context, or the named ones instead."""
    name = context or config.current_context
    if not name and not cluster:
        raise BadConfiguration(
            f"the kubeconfig {config.named} has no current context: give --context, or set one with kubectl config "
            f"use-context; {_has(config.contexts)}"
        )
    found = _entry(config, config.contexts, "context", name) if name else Context()
    server = cluster or found.cluster
    if not server:
        raise BadConfiguration(f"the context {name} of {config.named} names no cluster")
    who = user or found.user
    return Chosen(
        cluster=_entry(config, config.clusters, "cluster", server),
        user=_entry(config, config.users, "user", who) if who else User(),
        namespace=found.namespace or DEFAULT_NAMESPACE,
    )


def _entry(config: Kubeconfig, entries: dict[str, _E], kind: str, name: str) -> _E:
    if (found := entries.get(name)) is None:
        raise BadConfiguration(
            f"--{kind} {name}: {config.named} has no such {kind}; {_has(entries)}"
        )
    return found


def _has(entries: dict[str, Any]) -> str:
    return f"it has: {', '.join(entries) or 'none'}"


def _present(kubeconfig: str) -> list[Path]:
    paths = [Path(part).expanduser() for part in kubeconfig.split(os.pathsep) if part]
    present = [path for path in dict.fromkeys(paths) if path.is_file()]
    if not present:
        raise BadConfiguration(
            f"the kubeconfig {kubeconfig} does not exist: correct --kubeconfig or KUBECONFIG"
        )
    return present


def _load(path: Path) -> _File:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return msgspec.convert(_without_nulls(tree), _File)
    except yaml.MarkedYAMLError as failure:
        line = f", line {failure.problem_mark.line + 1}" if failure.problem_mark else ""
        detail = failure.problem or "not YAML"
        raise BadConfiguration(f"the kubeconfig {path} cannot be read: {detail}{line}") from failure
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as failure:
        detail = " ".join(str(failure).split())
        raise BadConfiguration(f"the kubeconfig {path} cannot be read: {detail}") from failure


def _without_nulls(tree: object) -> object:
    """A null is the same as nothing, as for Go's decoder."""
    match tree:
        case dict():
            return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
        case list():
            return [_without_nulls(value) for value in tree if value is not None]
        case _:
            return tree


def _add(entries: dict[str, _E], found: list[tuple[str, _E]], path: Path) -> None:
    names = [name for name, _ in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadConfiguration(
            f"the kubeconfig {path} has two entries of the name {twice}: remove one"
        )
    for name, entry in found:
        entries.setdefault(name, entry)


def _cluster_at(base: Path, cluster: Cluster) -> Cluster:
    return msgspec.structs.replace(
        cluster, certificate_authority=_path(base, cluster.certificate_authority)
    )


def _user_at(base: Path, user: User) -> User:
    program = user.exec
    # a bare word is looked for on the PATH
    if program is not None and os.sep in program.command:
        program = msgspec.structs.replace(program, command=_path(base, program.command))
    return msgspec.structs.replace(
        user,
        client_certificate=_path(base, user.client_certificate),
        client_key=_path(base, user.client_key),
        token_file=_path(base, user.token_file),
        exec=program,
    )


def _path(base: Path, named: str) -> str:
    return str(base / named) if named else ""
