"""Prepares a plane's folder, and defines the command line and the readiness of each component.

Why it exists: starting a plane and taking over a running one need the same components. Invariant: the same layout gives
the same components, in the order in which they are started. It must not start any.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp

from localcluster import flags
from localcluster.api import ApiClient
from localcluster.build import Binaries
from localcluster.certificates import certificate_files, write_certificates
from localcluster.errors import ClusterError, RequestRefused
from localcluster.flags import Layout
from localcluster.kubeconfig import kubeconfig_text, new_tokens, tokens_csv, write_private
from localcluster.process import Component, Program, ReadyCheck

READY_SECONDS = 90.0
ETCD, APISERVER = "etcd", "kube-apiserver"
OTHERS = ("kube-controller-manager", "kube-scheduler", "kwok")

ExtraFlags = Mapping[str, Sequence[str]]
CommandLines = Mapping[str, tuple[str, ...]]


def write_files(layout: Layout) -> dict[str, str]:
    """Write certificates, tokens, kubeconfigs and the scheduler's configuration; return the tokens by user."""
    files = write_certificates(layout.directory / "pki")
    tokens = new_tokens()
    write_private(layout.tokens, tokens_csv(tokens))
    authority = files.ca.read_bytes()
    for user, token in tokens.items():
        url = layout.url_for(user)
        write_private(layout.kubeconfig(user), kubeconfig_text(url, authority, user, token))
    write_private(layout.directory / "scheduler.yaml", flags.scheduler_configuration(layout))
    return tokens


def command_lines(layout: Layout, binaries: Binaries, extra: ExtraFlags) -> CommandLines:
    """Return the command line of each component; `extra` flags come last and win."""
    files = certificate_files(layout.directory / "pki")
    lines: dict[str, list[str]] = {
        ETCD: [str(binaries.etcd), *flags.etcd_flags(layout)],
        APISERVER: [str(binaries.kube_apiserver), *flags.apiserver_flags(layout, files)],
        "kube-controller-manager": [
            str(binaries.kube_controller_manager),
            *flags.controller_manager_flags(layout, files),
        ],
        "kube-scheduler": [str(binaries.kube_scheduler), *flags.scheduler_flags(layout)],
        "kwok": [str(binaries.kwok), *flags.kwok_flags(layout)],
    }
    return {name: (*line, *extra.get(name, ())) for name, line in lines.items()}


def make_components(
    layout: Layout,
    lines: CommandLines,
    tied: bool,
    client: ApiClient,
    further: Mapping[str, ReadyCheck],
) -> dict[str, Component]:
    """Return the components, not started; `further` has the readiness of components that only some planes have."""
    checks: dict[str, ReadyCheck] = {
        ETCD: _EtcdReady(layout),
        APISERVER: _ApiServerReady(client),
        **further,
    }
    return {
        name: Component(
            Program(name, line, layout.directory / "logs" / f"{name}.log", tied, flags.ENVIRONMENT),
            checks.get(name, _no_check),
            READY_SECONDS,
        )
        for name, line in lines.items()
    }


def token_of(layout: Layout, user: str) -> str:
    """Return a user's token out of the token file."""
    for line in layout.tokens.read_text().splitlines():
        token, name, _ = line.split(",", 2)
        if name == user:
            return token
    raise KeyError(user)


class _EtcdReady:
    def __init__(self, layout: Layout) -> None:
        self._url = f"{layout.etcd_url}/health"

    async def __call__(self) -> bool:
        timeout = aiohttp.ClientTimeout(total=2.0)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(self._url) as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False


class _ApiServerReady:
    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def __call__(self) -> bool:
        try:
            async with asyncio.timeout(2.0):
                return await self._client.text("/readyz") == "ok"
        except (aiohttp.ClientError, TimeoutError, RequestRefused):
            return False


async def _no_check() -> bool:
    return True


def absolute(directory: Path | str) -> Path:
    """Return the folder as components need it: absolute, and existing.

    Raises:
        ClusterError: it cannot be made.
    """
    path = Path(directory).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterError(
            f"the folder {path} cannot be made ({error.strerror}): choose another"
        ) from error
    return path
