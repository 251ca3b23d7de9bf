"""The commands of the documents' install sections, run on the node as they are printed.

Two stand-ins: `docker` is buildah on the local base, because no registry can be reached, and a push writes the archive
that the node is given; REGISTRY is a name.
"""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.cluster.images import BASE, ensure_images, storage_command
from demo.cluster.install import install
from demo.cluster.locks import PROCESSES, ROOT
from demo.commands import Commands
from demo.stage import CONTROLLER, NAMESPACE, WORKER
from localcluster.extras import BuiltExtra
from localcluster.node.plane import NodePlane
from localcluster.progress import SilentReporter

pytestmark = pytest.mark.full
"""Images, Helm and an install take minutes: part of `make test-full`."""

REGISTRY = "registry.example"
OPERATIONS, README = ROOT / "docs" / "operations.md", ROOT / "README.md"
BLOCK = re.compile(r"^```(sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCKER = """#!/bin/sh
set -e
command="$1"; shift
case "$command" in
build)
  cd {root}
  exec {bud} --layers --isolation=chroot --timestamp=0 --network=host --format=docker --build-arg=BASE={base} "$@";;
push) exec {push} "$1" "docker-archive:{archives}/$(basename "${{1%:*}}").tar:$1";;
esac
exit 64
"""
COMMAND_SECONDS = 400.0


def blocks(page: Path, heading: str) -> list[tuple[str, str]]:
    """Language and text of each block of a section."""
    _, found, rest = page.read_text().partition(f"\n## {heading}\n")
    assert found, heading
    section = rest.partition("\n## ")[0]
    return [(one[1], one[2].replace("REGISTRY", REGISTRY)) for one in BLOCK.finditer(section)]


def beginning(page: Path, heading: str, words: str) -> str:
    """The one block of a section whose text begins so."""
    (found,) = [text for _, text in blocks(page, heading) if text.startswith(words)]
    return found


@dataclass(frozen=True)
class Terminal:
    """A folder with the repository's `deploy`, where a person types."""

    folder: Path
    archives: Path
    commands: Commands

    async def type(self, text: str) -> str:
        """Run a block as a shell does, up to the first command that fails."""
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-ec", text),
            cwd=self.folder,
            env=self.commands.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
        assert process.returncode == 0, f"{text}\n{output.decode()[-3000:]}"
        return output.decode()


@pytest.fixture
async def terminal(
    installed: NodePlane, helm: BuiltExtra, tmp_path: Path
) -> AsyncIterator[Terminal]:
    """Give a terminal on the node; afterwards the product is installed as before."""
    commands = Commands(installed, tmp_path / "commands")
    commands.install()
    folder, archives = tmp_path / "here", tmp_path / "archives"
    for made in (folder, archives):
        made.mkdir()
    shutil.copytree(ROOT / "deploy", folder / "deploy", symlinks=True)
    os.symlink(helm.binary, commands.folder / "helm")
    docker = commands.folder / "docker"
    bud, push = (" ".join(storage_command(word)) for word in ("bud", "push"))
    docker.write_text(DOCKER.format(root=ROOT, bud=bud, push=push, base=BASE, archives=archives))
    docker.chmod(0o755)
    yield Terminal(folder, archives, commands)
    await installed.kubectl("delete", "--ignore-not-found", "namespace", NAMESPACE)
    await install(installed, await ensure_images(SilentReporter()))


async def _ready(node: NodePlane) -> set[str]:
    """Wait until both Deployments are ready; return their images."""
    images = set()
    for name in (CONTROLLER, WORKER):
        where = ("-n", NAMESPACE, f"deployment/{name}")
        await node.kubectl("rollout", "status", "--timeout=140s", *where)
        path = "jsonpath={.spec.template.spec.containers[0].image}"
        images.add(await node.kubectl("get", *where, "-o", path))
    return images


async def test_the_install_sections_work_as_printed(
    terminal: Terminal, installed: NodePlane
) -> None:
    wanted = {f"{REGISTRY}/moonshift-{process}:0.1.0" for process in PROCESSES}
    await terminal.type(beginning(OPERATIONS, "Install", "docker build"))
    await installed.load_images(*(terminal.archives / f"moonshift-{p}.tar" for p in PROCESSES))
    await installed.kubectl("delete", "namespace", NAMESPACE)

    ours = beginning(OPERATIONS, "Install", "resources: [deploy/kustomize]")
    (terminal.folder / "kustomization.yaml").write_text(ours)
    await terminal.type(beginning(OPERATIONS, "Install", "kubectl apply"))
    assert await _ready(installed) == wanted
    await terminal.type(
        beginning(README, "A Rollout of your own, in five minutes", "kubectl apply")
    )
    assert await _ready(installed) == wanted
    await terminal.type(beginning(OPERATIONS, "Upgrade, and back", "moonshift install"))
    assert await _ready(installed) == wanted
    await terminal.type(beginning(OPERATIONS, "Install", "kubectl moonshift install --check"))

    await terminal.type(beginning(OPERATIONS, "Taking Moonshift away", "kubectl delete mutating"))
    await terminal.type(beginning(OPERATIONS, "Install", "helm install"))
    assert await _ready(installed) == wanted
    await terminal.type(f"helm uninstall moonshift --namespace {NAMESPACE} --wait")
