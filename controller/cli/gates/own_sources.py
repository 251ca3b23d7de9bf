"""Asking metric sources from a person's own machine: the controller's client, without the controller's allow-list.

Invariant: the queries are those that the controller would send. An address, a header or a token of the command line
outranks that of the metric. Without a token on the command line, the Secret of a metric is read if there is a cluster,
with the rights of the person; its content is never printed, and sent only to hosts that the Secret names and to the
address of the command line. A Secret that is not meant for gates is not used: the author of a Rollout must not choose
where a person who tries its gate sends Secrets.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import structs
from yarl import URL

from controller.api.analysis import Header, Metric, SecretRef
from controller.cli.failures import Failure
from controller.cli.files import read_text
from controller.cli.gates.own_scripts import FoundScripts, ThisPerson
from controller.cli.script_tools.engine import Engine, private_worker
from controller.cli.simulation.manifests import text_of
from controller.domain.gates.secret_destinations import GateSecret
from controller.domain.gates.watching import Asked
from controller.domain.traffic.tree import Tree
from controller.effects.asking_scripts import KubeAskingScripts
from controller.effects.gate_secrets import GateSecrets, SecretObject, secret_of
from controller.kube.client import KubeClient
from controller.kube.resources import Resource
from controller.outbound.egress import Anywhere
from controller.outbound.exchanging import Exchanging
from controller.outbound.fetching import Failed, Fetching, Secrets
from controller.outbound.measuring import Measuring

COMMAND_LINE = "command-line"


class Access(msgspec.Struct, frozen=True):
    """How sources are reached; empty if the metrics decide."""

    address: str = ""
    headers: tuple[Header, ...] = ()
    token: str = ""
    authority: str = ""
    reads_secrets: bool = False
    """A cluster is at hand: Secrets that metrics name are read there."""
    given: Mapping[str, GateSecret] = {}
    """Secrets of the files, by name."""

    @property
    def is_given(self) -> bool:
        """Whether the command line has credentials."""
        return bool(self.token or self.authority)

    def applied(self, asked: Asked) -> Asked:
        """The metric as it is sent from this machine."""
        stable = self._side(asked.stable) if asked.stable is not None else None
        return structs.replace(asked, new=self._side(asked.new), stable=stable)

    def _side(self, metric: Metric) -> Metric:
        found, page = metric.prometheus, metric.web
        if found is not None:
            address = self.address or found.address
            if not address:
                raise Failure(
                    f"metric {metric.name} names no address: give --prometheus http://HOST:PORT"
                )
            headers = (*found.headers, *self.headers)
            found = structs.replace(
                found, address=address, headers=headers, auth=self._auth(found.auth)
            )
        if page is not None:
            headers = (*page.headers, *self.headers)
            page = structs.replace(page, headers=headers, auth=self._auth(page.auth))
        return structs.replace(metric, prometheus=found, web=page)

    def _auth(self, named: SecretRef | None) -> SecretRef | None:
        if self.is_given:
            return SecretRef(COMMAND_LINE)
        if named is not None and (self.reads_secrets or named.name in self.given):
            return named
        return None

    def also_chosen(self, secret: GateSecret) -> GateSecret:
        """The Secret for the address of the command line, too."""
        chosen = URL(self.address).host if self.address else None
        return secret.also_to(chosen) if chosen else secret

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The token and the authority in the place of a Secret, or a Secret of the files."""
        if name in self.given:
            return self.also_chosen(self.given[name])
        if name != COMMAND_LINE:
            raise Failed(
                f"Secret {namespace}/{name} is not read here: give its manifest with -f, too, or let it be read with "
                "--from-rollout; an argument can be given with --arg NAME=VALUE"
            )
        values = {"token": self.token, "ca.crt": self.authority}
        return GateSecret(namespace, name, values, anywhere=True)


def access_of(
    address: str | None,
    headers: tuple[str, ...],
    token_file: Path | None,
    authority_file: Path | None,
) -> Access:
    """The settings of the command line; a Failure for a malformed header."""
    return Access(
        address or "",
        tuple(map(_header, headers)),
        _content(token_file).strip(),
        _content(authority_file),
    )


def given_secrets(objects: Iterable[Tree], namespace: str) -> dict[str, GateSecret]:
    """The Secrets among the objects, by name. Raises Failure for one that no API server would take."""
    found: dict[str, GateSecret] = {}
    for item in objects:
        if item.get("kind") != "Secret" or text_of(item, "apiVersion") != "v1":
            continue
        try:
            secret = secret_of(namespace, msgspec.convert(item, SecretObject))
        except (ValueError, msgspec.ValidationError) as wrong:
            raise Failure(f"Secret {text_of(item, 'metadata', 'name')}: {wrong}") from wrong
        found[secret.name] = secret
    return found


def _content(path: Path | None) -> str:
    try:
        return "" if path is None else read_text(path)
    except (OSError, ValueError) as problem:
        raise Failure(f"{path} cannot be read: {problem}") from problem


def _header(text: str) -> Header:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Failure(f"--header {text!r}: write it as 'NAME: VALUE'")
    return Header(name.strip(), value.strip())


class Sources(msgspec.Struct, frozen=True):
    """The two ways to ask: a measurement as the controller takes it, and requests of any kind."""

    measuring: Measuring
    fetching: Fetching


class LiveSecrets:
    """Secrets of the files, then of the cluster, read with the rights of the person."""

    def __init__(self, access: Access, secrets: GateSecrets) -> None:
        self._access = access
        self._secrets = secrets

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The Secret. Raises `Failed` if it cannot be read."""
        if name in self._access.given:
            return await self._access.read(namespace, name)
        try:
            return self._access.also_chosen(await self._secrets.read(namespace, name))
        except Failed as failed:
            raise Failed(f"{failed}; or give --bearer-token-file") from failed


@contextlib.asynccontextmanager
async def sources(
    access: Access, client: KubeClient | None = None, scripts: FoundScripts | None = None
) -> AsyncIterator[Sources]:
    """Connections within the block; `client` reads the Secrets if `access` says so, a worker runs `scripts`."""
    secrets: Secrets = access
    if client is not None and not access.is_given:
        secrets = LiveSecrets(access, GateSecrets(client))
    fetching = Fetching(Anywhere(), secrets)
    async with contextlib.AsyncExitStack() as running:
        asking = None
        if scripts is not None:
            engine = await running.enter_async_context(private_worker())
            asking = Exchanging(fetching, asking_scripts(scripts, engine), _now)
        measuring = Measuring(fetching, lambda key: None, _now, exchanging=asking)
        running.push_async_callback(measuring.aclose)
        yield Sources(measuring, fetching)


def asking_scripts(scripts: FoundScripts, engine: Engine) -> KubeAskingScripts:
    """The scripts with the rights of this person; they see no object."""
    return KubeAskingScripts(scripts.find, engine, ThisPerson(), _NoObjects())


def _now() -> datetime:
    return datetime.now(UTC)


class _NoObjects:
    """No object is read from this machine."""

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """Never."""
        raise Failed(f"{namespace}/{name} is not read here")

    async def served(self, api_version: str, kind: str) -> Resource | None:
        """Never."""
        return None
