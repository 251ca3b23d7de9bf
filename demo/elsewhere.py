"""The user's own cluster, with Moonshift installed: the story plays in a new namespace, which is deleted at the end.

Why it exists: a user who has a cluster does not need a second one. Invariants: the story writes only in the new
namespace; if the cluster lacks a definition that the story needs, the story ends with an error before it creates
anything. The story reaches the cluster by kubectl, so every way to log in that a kubeconfig can name works.
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import yaml

from demo.place import NAMESPACE
from localcluster.api import ApiClient
from localcluster.build import ensure_built
from localcluster.errors import ClusterError, CommandFailed
from localcluster.history import Kind
from localcluster.kubeconfig import write_private
from localcluster.progress import Reporter
from localcluster.record import Recorder

PROXY_SECONDS = 20.0
NO_ISTIO = "Istio's kinds are not there: install Istio, or `kubectl apply -f demo/crds`"
NEEDED = {
    "rollouts.rollouts.kruise.io": "Moonshift is not installed there: docs/operations.md says how",
    "virtualservices.networking.istio.io": NO_ISTIO,
    "destinationrules.networking.istio.io": NO_ISTIO,
    "gateways.networking.istio.io": NO_ISTIO,
}
"""Definitions without which there is no story, and what to do."""


class ExistingCluster:
    """The cluster of a kubeconfig, as the story needs it; make it with `reached`."""

    def __init__(self, kubeconfig: Path, kubectl: Path, client: ApiClient) -> None:
        self.kubectl_path = kubectl
        self._kubeconfig, self._client = kubeconfig, client

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of the person who plays the story, for every user."""
        return self._kubeconfig

    def client(self, user: str) -> ApiClient:
        """The client of the person who plays the story, for every user."""
        return self._client

    def recorder(self, *kinds: Kind) -> AbstractAsyncContextManager[Recorder]:
        """Record changes of `kinds` for the length of a block."""
        return Recorder.start(self._client, kinds)


@contextlib.asynccontextmanager
async def reached(given: Path, folder: Path, reporter: Reporter) -> AsyncIterator[ExistingCluster]:
    """The cluster of a kubeconfig, with the story's namespace in it for the length of a block."""
    on_path = shutil.which("kubectl")
    kubectl = Path(on_path) if on_path else (await ensure_built(reporter)).kubectl
    own = await _own_kubeconfig(kubectl, given, folder)
    for name, missing in NEEDED.items():
        if not await _run(kubectl, own, "get", "crd", name, "--ignore-not-found", "-o", "name"):
            raise ClusterError(missing)
    async with _proxy(kubectl, own) as url, ApiClient(url, "", "") as client:
        await _run(kubectl, own, "create", "namespace", NAMESPACE)
        try:
            yield ExistingCluster(own, kubectl, client)
        finally:
            await _run(kubectl, own, "delete", "namespace", NAMESPACE)


async def _own_kubeconfig(kubectl: Path, given: Path, folder: Path) -> Path:
    """The present context alone, in the story's namespace."""
    words = ("config", "view", "--raw", "--minify", "--flatten")
    content = yaml.safe_load(await _run(kubectl, given, *words))
    content["contexts"][0]["context"]["namespace"] = NAMESPACE
    return write_private(folder / "kubeconfig.yaml", yaml.safe_dump(content))


@contextlib.asynccontextmanager
async def _proxy(kubectl: Path, kubeconfig: Path) -> AsyncIterator[str]:
    """kubectl's proxy, which logs in as the kubeconfig says."""
    process = await asyncio.create_subprocess_exec(
        str(kubectl), f"--kubeconfig={kubeconfig}", "proxy", "--port=0",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PROXY_SECONDS):
            line = (await process.stdout.readline()).decode()
        _, _, address = line.strip().rpartition(" ")
        yield f"http://{address}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _run(kubectl: Path, kubeconfig: Path, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        str(kubectl), f"--kubeconfig={kubeconfig}", *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, errors = await process.communicate()
    if process.returncode != 0:
        raise CommandFailed(f"kubectl {' '.join(words)}: {errors.decode().strip()}")
    return output.decode()
