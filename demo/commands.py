"""The commands a person would type, under the names they would type.

Why it exists: the article says `kubectl-kruise rollout approve rollout/rollouts-demo`, and that very line has to work.
Invariant: commands are found on a PATH that begins with the demo's own folder, and act as the user `developer`.
It must not know what they do.
"""

import asyncio
import os
import shlex
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from localcluster.api import ApiClient
from localcluster.errors import CommandFailed
from localcluster.history import Kind
from localcluster.record import Recorder

ROOT = Path(__file__).resolve().parent.parent
USER = "developer"
NAMES = ("kubectl-kruise", "kubectl-moonshift")
LAUNCHER = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
from controller.cli.main import main
main()
"""
COMMAND_SECONDS = 150.0


class Cluster(Protocol):
    """The parts of a cluster that the story needs."""

    @property
    def kubectl_path(self) -> Path:
        """A kubectl that fits."""
        ...

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user."""
        ...

    def client(self, user: str) -> ApiClient:
        """The client of a user."""
        ...

    def recorder(self, *kinds: Kind) -> AbstractAsyncContextManager[Recorder]:
        """Record changes for the length of a block."""
        ...


class Commands:
    """A folder of commands on one cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.folder = folder
        self._cluster = cluster

    def install(self) -> None:
        """Write the product's command line and link to it by the names of the plugins; link to kubectl."""
        self.folder.mkdir(parents=True, exist_ok=True)
        launcher = self.folder / "moonshift"
        launcher.write_text(LAUNCHER.format(python=sys.executable, root=str(ROOT)))
        launcher.chmod(0o755)
        for name in NAMES:
            _link(self.folder / name, Path("moonshift"))
        _link(self.folder / "kubectl", self._cluster.kubectl_path)

    async def run(self, line: str) -> str:
        """Run a command line, without a shell, and return its output.

        Raises:
            CommandFailed: it ended with an error.
        """
        words = shlex.split(line)
        process = await asyncio.create_subprocess_exec(
            str(self.folder / words[0]),
            *words[1:],
            cwd=ROOT,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        text = output.decode().strip()
        if process.returncode != 0:
            raise CommandFailed(f"{line}: ended with {process.returncode}: {text}")
        return text

    async def try_to(self, line: str) -> str:
        """Run a command line that is meant to fail, and return its output."""
        try:
            return await self.run(line)
        except CommandFailed as failed:
            return str(failed).partition(": ended with ")[2].partition(": ")[2]

    def environment(self) -> dict[str, str]:
        """The environment in which the commands work."""
        path = os.pathsep.join((str(self.folder), os.environ.get("PATH", os.defpath)))
        kubeconfig = str(self._cluster.kubeconfig(USER))
        cache = str(self.folder.parent / "kubectl-cache")
        return {**os.environ, "PATH": path, "KUBECONFIG": kubeconfig, "KUBECACHEDIR": cache}


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
