"""The whole program against an API double: a command line in, output, exit code and requests out."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from click.testing import CliRunner, Result

from controller.cli.main import cli
from tests.component.kube.faulty_server import (
    FaultyServer,
    Reply,
    Request,
    event,
    status,
    write_kubeconfig,
)

ROLLOUTS = "/apis/rollouts.kruise.io/v1beta1/namespaces/default/rollouts"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"


def make_rollout(
    *,
    name: str = "web",
    step: int = 1,
    state: str = "StepPaused",
    phase: str = "Progressing",
    paused: bool = False,
    conditions: Sequence[dict[str, str]] = (),
    version: str = "5",
) -> dict[str, Any]:
    """A Rollout as the API server sends it."""
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "generation": 1,
            "resourceVersion": version,
        },
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"},
            "strategy": {
                "paused": paused,
                "canary": {"steps": [{"replicas": "50%"}, {"replicas": "100%"}]},
            },
        },
        "status": {
            "observedGeneration": 1,
            "phase": phase,
            "conditions": list(conditions),
            "canaryStatus": {
                "currentStepIndex": step,
                "currentStepState": state,
                "stableRevision": "old1",
                "canaryRevision": "hash2",
            },
            "moonshift": {"step": step, "state": state, "stableRevision": "old1"},
        },
    }


@dataclass
class Cluster:
    """Collections by path; `overrides` answer (method, path) whatever is stored; `events` go to every watch."""

    server: FaultyServer
    directory: Path
    collections: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    overrides: dict[tuple[str, str], tuple[int, object]] = field(default_factory=dict)
    events: dict[str, list[bytes]] = field(default_factory=dict)
    after_patch: dict[str, dict[str, Any]] = field(default_factory=dict)
    watches: dict[str, Callable[[str, Reply], Awaitable[None]]] = field(default_factory=dict)
    """Answers to watches of a test's own, by path."""

    async def respond(self, request: Request, reply: Reply) -> None:
        path = request.path.rstrip("/")
        if request.method == "PATCH":
            self._patched(path.removesuffix("/status"))
        if (override := self.overrides.get((request.method, path))) is not None:
            await reply.answer(*override)
        elif request.watching:
            await self._watch(path, reply)
        elif path in self.collections:
            items = _selected(self.collections[path], request)
            await reply.answer(200, {"metadata": {"resourceVersion": "9"}, "items": items})
        else:
            await self._object(path, reply)

    def _patched(self, path: str) -> None:
        """Replace a patched object by the one that a test has given, if any."""
        if (after := self.after_patch.get(path)) is not None:
            self.collections[path.rpartition("/")[0]] = [after]

    async def _object(self, path: str, reply: Reply) -> None:
        path = path.removesuffix("/status")
        collection, _, name = path.rpartition("/")
        if collection not in self.collections:
            await reply.answer(404, b"404 page not found\n")
            return
        for item in self.collections[collection]:
            if item["metadata"]["name"] == name:
                await reply.answer(200, item)
                return
        await reply.answer(404, status(404, "NotFound", f'"{name}" not found'))

    async def _watch(self, path: str, reply: Reply) -> None:
        if path in self.watches:
            await self.watches[path](path, reply)
            return
        await reply.begin_stream()
        for line in self.events.get(path, ()):
            await reply.send(line)
        await reply.until_closed()

    def changes_to(self, rollout: dict[str, Any]) -> None:
        """Send the change to everybody who watches Rollouts."""
        self.events.setdefault(ROLLOUTS, []).append(event("MODIFIED", rollout))

    async def run(
        self,
        *arguments: str,
        name: str = "kubectl moonshift",
        user: Mapping[str, object] = MappingProxyType({}),
        input: str | None = None,
    ) -> Result:
        """Run the program in a thread of its own: it has its own event loop."""
        kubeconfig = await asyncio.to_thread(
            write_kubeconfig, self.directory, self.server, {**user}
        )
        runner = CliRunner(env={"KUBECONFIG": kubeconfig, "COLUMNS": "200"})
        return await asyncio.to_thread(
            runner.invoke, cli, list(arguments), input=input, prog_name=name
        )

    @property
    def patches(self) -> list[tuple[str, str, Any]]:
        """Path, content type and body of every patch."""
        return [
            (request.path, request.headers["content-type"], json.loads(request.body))
            for request in self.server.requests
            if request.method == "PATCH"
        ]


def _selected(items: list[dict[str, Any]], request: Request) -> list[dict[str, Any]]:
    wanted = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
    return [item for item in items if not wanted or item["metadata"]["name"] == wanted]


@contextlib.asynccontextmanager
async def cluster(directory: Path, *rollouts: dict[str, Any]) -> AsyncIterator[Cluster]:
    """A cluster with these Rollouts and no workloads."""
    server = FaultyServer()
    made = Cluster(server, directory, {ROLLOUTS: list(rollouts), DEPLOYMENTS: []})
    server.others.append(made.respond)
    async with server.running():
        yield made
