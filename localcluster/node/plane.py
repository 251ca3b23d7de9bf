"""A control plane with a real node.

Why it exists: images, probes, the cluster network and admission calls through Services are tested only if containers
run. Invariant: it is used like any plane, from outside its box; when it ends, or its starter dies, only its logs stay.
It must not know the product.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from localcluster.build import Binaries
from localcluster.errors import ClusterError, CommandFailed
from localcluster.flags import Layout
from localcluster.furnish import furnish, nodes_ready
from localcluster.node import settings, tools
from localcluster.node.archive import write_image
from localcluster.node.box import group_name
from localcluster.node.lines import (
    BOX,
    CONTAINERD,
    DNS,
    DNS_USER,
    DOOR,
    ENFORCER,
    KUBELET,
    PROXY,
    PROXY_USER,
    NodeLayout,
    door,
    entering,
    node_lines,
)
from localcluster.node.programs import ensure_node_programs, node_programs
from localcluster.plane import Plane
from localcluster.process import ReadyCheck
from localcluster.progress import Reporter, SilentReporter
from localcluster.startup import APISERVER, ETCD, CommandLines, ExtraFlags

COMMAND_SECONDS = 120.0
DOOR_SECONDS = 10.0


class NodePlane(Plane):
    """A plane whose one node is real; make it with `start`, `launch` or `attach`."""

    LAYOUT: ClassVar[type[Layout]] = NodeLayout

    @classmethod
    async def launch(
        cls,
        directory: Path | str,
        *,
        tied: bool = False,
        extra_flags: ExtraFlags | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """Start a plane with its node and leave it running.

        Raises:
            ClusterError: this machine cannot run a node; the message says what helps.
        """
        if reason := tools.refusal():
            raise ClusterError(reason)
        await ensure_node_programs(reporter or SilentReporter())
        return await super().launch(
            directory, tied=tied, extra_flags=extra_flags, reporter=reporter
        )

    @classmethod
    def _lines_of(cls, layout: Layout, binaries: Binaries, extra: ExtraFlags) -> CommandLines:
        assert isinstance(layout, NodeLayout)
        layout.node_folder.mkdir(parents=True, exist_ok=True)
        return node_lines(layout, binaries, node_programs(), extra)

    @property
    def node_layout(self) -> NodeLayout:
        """Folders, ports and files."""
        assert isinstance(self.layout, NodeLayout)
        return self.layout

    def ready_checks(self) -> Mapping[str, ReadyCheck]:
        """Return when the box and containerd are ready."""
        return {
            BOX: _Exists(self.node_layout.box),
            CONTAINERD: _Answers(self, "ctr", "version"),
        }

    def at_home(self, line: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a program in the box."""
        return entering(self.node_layout, line)

    async def open_port(self, name: str, port: int) -> None:
        """Open a door from the same port outside."""
        line = door(self.node_layout, f"{port}=127.0.0.1:{port}")
        await self.add(name, line, _at_once, DOOR_SECONDS)

    async def inside(self, *command: str) -> str:
        """Run a command in the box and return what it wrote.

        Raises:
            CommandFailed: it ended with an error; the message is its standard error.
        """
        process = await asyncio.create_subprocess_exec(
            *entering(self.node_layout, command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise CommandFailed(f"{' '.join(command)}: {errors.decode().strip()}")
        return output.decode()

    async def load_images(self, *archives: Path) -> None:
        """Give the node the images of these archives (`docker save`'s format)."""
        for archive in archives:
            await self.inside("ctr", "--namespace=k8s.io", "images", "import", str(archive))

    async def load_program(
        self, name: str, program: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Give the node an image `name` that holds one static program."""
        folder = self.node_layout.node_folder / "images"
        archive = folder / f"{name.replace('/', '_').replace(':', '_')}.tar"
        await self.load_images(write_image(archive, name, program, environment))

    async def shut_down(self) -> None:
        """End the box, with it everything inside, and remove the data."""
        await self.components[BOX].terminate()
        await super().shut_down()

    async def _start(self, reporter: Reporter) -> None:
        with reporter.phase("make a box for the node"):
            await self.components[BOX].start()
            self._write_settings()
            for name in (DOOR, CONTAINERD):
                self.components[name].spawn()
        for name in (ETCD, APISERVER):
            with reporter.phase(f"start {name}"):
                await self.components[name].start()
        with reporter.phase("start controllers, scheduler and the node"):
            await furnish(self.client(), nodes=())
            for name in ("kube-controller-manager", "kube-scheduler", DNS, PROXY, ENFORCER):
                self.components[name].spawn()
            await self.components[CONTAINERD].wait_ready()
            await self.load_program(settings.PAUSE, node_programs().pause.binary)
            self.components[KUBELET].spawn()
            await nodes_ready(self.client())

    def _write_settings(self) -> None:
        layout = self.node_layout
        kubeconfigs = {
            "kube-proxy": layout.kubeconfig(PROXY_USER),
            "coredns": layout.kubeconfig(DNS_USER),
        }
        group = group_name(self.components[BOX].pid)
        for path, text in settings.files(layout.node_folder, group, kubeconfigs).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


async def _at_once() -> bool:
    return True


class _Exists:
    def __init__(self, path: Path) -> None:
        self._path = path

    async def __call__(self) -> bool:
        return self._path.exists()


class _Answers:
    def __init__(self, plane: NodePlane, *command: str) -> None:
        self._plane = plane
        self._command: Sequence[str] = command

    async def __call__(self) -> bool:
        try:
            await self._plane.inside(*self._command)
        except CommandFailed:
            return False
        return True
