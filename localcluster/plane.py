"""A running control plane and everything a test does with it.

Why it exists: other rooms need one object for the whole plane. Invariant: it ends every process that it started, by
pid; after `shut_down` there is no process and no data folder. It must not know the product: its kinds, its names, its
behaviour.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, Self

from localcluster.access import Access
from localcluster.audit import AuditLog
from localcluster.build import Binaries, ensure_built
from localcluster.errors import ClusterError, ComponentExited
from localcluster.flags import Layout
from localcluster.furnish import furnish, nodes_ready
from localcluster.history import Kind
from localcluster.ports import free_ports
from localcluster.process import Component, Program, ReadyCheck
from localcluster.progress import Reporter, SilentReporter
from localcluster.record import Recorder
from localcluster.startup import (
    APISERVER,
    ETCD,
    OTHERS,
    CommandLines,
    ExtraFlags,
    absolute,
    command_lines,
    make_components,
    write_files,
)
from localcluster.state import PlaneState, ProcessState, read_state, state_file, write_state
from localcluster.storage import DataFolder, new_data_folder
from localcluster.usage import ResourceUse

ATTEMPTS = 3


class Plane(Access):
    """A control plane on 127.0.0.1; make it with `start`, `launch` or `attach`."""

    LAYOUT: ClassVar[type[Layout]] = Layout

    def __init__(
        self, layout: Layout, kubectl: Path, lines: CommandLines, data: DataFolder, tied: bool
    ) -> None:
        super().__init__(layout, kubectl)
        self.audit = AuditLog(layout.audit_log)
        self._lines = dict(lines)
        self._data = data
        self._tied = tied
        self.components: dict[str, Component] = make_components(
            layout, lines, tied, self.client(), self.ready_checks()
        )
        for component in self.components.values():
            component.on_spawn = self._save_state

    def ready_checks(self) -> Mapping[str, ReadyCheck]:
        """Return when components that only some planes have are ready."""
        return {}

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        directory: Path | str,
        *,
        extra_flags: ExtraFlags | None = None,
        reporter: Reporter | None = None,
    ) -> AsyncIterator[Self]:
        """Run a plane for the length of a block; its processes die with this one, however it ends."""
        plane = await cls.launch(directory, tied=True, extra_flags=extra_flags, reporter=reporter)
        try:
            yield plane
        finally:
            await plane.shut_down()

    @classmethod
    async def launch(
        cls,
        directory: Path | str,
        *,
        tied: bool = False,
        extra_flags: ExtraFlags | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """Start a plane and leave it running; a port that was taken meanwhile leads to another attempt."""
        reporter = reporter or SilentReporter()
        binaries = await ensure_built(reporter)
        folder = absolute(directory)
        for attempt in range(1, ATTEMPTS + 1):
            plane = cls._prepare(folder, binaries, tied, extra_flags or {})
            try:
                await plane._start(reporter)
            except BaseException as error:
                await plane.shut_down()
                in_use = "address already in use" in str(error)
                if attempt == ATTEMPTS or not in_use or not isinstance(error, ComponentExited):
                    raise
            else:
                return plane
        raise AssertionError("unreachable")

    @classmethod
    def attach(cls, directory: Path | str) -> Self:
        """Return the plane that another process launched in `directory`."""
        folder = Path(directory).absolute()
        state = read_state(folder)
        if state is None:
            raise ClusterError(f"no plane in {folder}")
        layout = cls.LAYOUT(
            folder, Path(state.data), state.etcd_port, state.etcd_peer_port, state.api_port
        )
        plane = cls(
            layout, Path(state.kubectl), state.programs, DataFolder(layout.data), tied=False
        )
        for name, process in state.processes.items():
            plane.components[name].adopt(process.pid, process.started_at)
        return plane

    @classmethod
    def _prepare(cls, folder: Path, binaries: Binaries, tied: bool, extra: ExtraFlags) -> Self:
        data = new_data_folder(folder, held=tied)
        layout = cls.LAYOUT(folder, data.path, *free_ports(3))
        layout.audit_log.unlink(missing_ok=True)
        write_files(layout)
        return cls(layout, binaries.kubectl, cls._lines_of(layout, binaries, extra), data, tied)

    @classmethod
    def _lines_of(cls, layout: Layout, binaries: Binaries, extra: ExtraFlags) -> CommandLines:
        return command_lines(layout, binaries, extra)

    async def _start(self, reporter: Reporter) -> None:
        for name in (ETCD, APISERVER):
            with reporter.phase(f"start {name}"):
                await self.components[name].start()
        with reporter.phase("start controllers, scheduler and nodes"):
            for name in OTHERS:
                self.components[name].spawn()
            await furnish(self.client())
            await nodes_ready(self.client())
        for component in self.components.values():
            await component.wait_ready()

    def at_home(self, line: Sequence[str]) -> tuple[str, ...]:
        """Return the command line that runs a program where the API server can call it."""
        return tuple(line)

    async def open_port(self, name: str, port: int) -> None:
        """Make a port of a program that runs `at_home` reachable for this process, as a component `name`."""

    async def add(
        self, name: str, line: Sequence[str], is_ready: ReadyCheck, ready_seconds: float
    ) -> Component:
        """Run one more program as a component of the plane and return it when it is ready."""
        program = Program(name, line, self.layout.directory / "logs" / f"{name}.log", self._tied)
        component = Component(program, is_ready, ready_seconds)
        component.on_spawn = self._save_state
        self._lines[name] = tuple(line)
        self.components[name] = component
        await component.start()
        return component

    def _save_state(self) -> None:
        """Write down which processes there are, for `attach`."""
        processes = {
            n: ProcessState(c.pid, c.started_at) for n, c in self.components.items() if c.pid
        }
        state = PlaneState(
            etcd_port=self.layout.etcd_port,
            etcd_peer_port=self.layout.etcd_peer_port,
            api_port=self.layout.api_port,
            data=str(self.layout.data),
            kubectl=str(self.kubectl_path),
            programs=self._lines,
            processes=processes,
        )
        write_state(self.layout.directory, state)

    async def shut_down(self) -> None:
        """End all processes and remove the data; logs, audit log and kubeconfigs stay."""
        try:
            async with asyncio.TaskGroup() as group:
                for component in self.components.values():
                    group.create_task(component.kill())
        finally:
            await self.close()
            self._data.remove()
            state_file(self.layout.directory).unlink(missing_ok=True)

    @asynccontextmanager
    async def recorder(self, *kinds: Kind) -> AsyncIterator[Recorder]:
        """Record changes of `kinds` for the length of a block."""
        async with Recorder.start(self.client("recorder"), kinds) as recorder:
            yield recorder

    def resource_use(self) -> dict[str, ResourceUse]:
        """Return what each component uses."""
        return {name: component.resource_use() for name, component in self.components.items()}
