"""One command's connection to the cluster, and its event loop.

Invariant: every failure of the API server or the connection is one line for the person.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TypeVar

import click
import msgspec

from controller.cli.failures import Failure, explain
from controller.cli.options import Connection, connection_of, program_of
from controller.cli.reading.kubeconfig import namespace_of
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.version import program_version

FIELD_MANAGER = "moonshift-cli"

_T = TypeVar("_T")


class Session(msgspec.Struct, frozen=True):
    """The means of a command: client, terminal, clock. `program` is how hints spell this program."""

    client: KubeClient
    namespace: str
    program: str
    controller_namespace: str = ""
    """As the person named it; empty: it has to be found."""


@contextlib.asynccontextmanager
async def connected(connection: Connection, program: str) -> AsyncIterator[Session]:
    """Read the credentials; the first request opens the connection."""
    source = connection.source()
    namespace = connection.namespace or namespace_of(source)
    client = await KubeClient.connect_by(
        source,
        user_agent=f"moonshift-cli/{program_version()}",
        field_manager=FIELD_MANAGER,
    )
    try:
        yield Session(client, namespace, program, connection.controller_namespace or "")
    finally:
        await client.aclose()


def run(work: Callable[[Session], Awaitable[_T]]) -> _T:
    """Do the work of the present command; failures become one line and an exit code."""
    ctx = click.get_current_context()
    connection, program = connection_of(ctx), program_of(ctx)

    async def whole() -> _T:
        async with connected(connection, program) as session:
            return await work(session)

    return to_the_end(whole())


def to_the_end(work: Coroutine[object, object, _T]) -> _T:
    """Run it in an event loop; failures become one line and an exit code."""
    try:
        return asyncio.run(work)
    except MoonshiftError as failure:
        raise Failure(explain(failure)) from failure
