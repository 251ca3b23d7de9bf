"""A stage that stays up after the demo: how to go on, how to start ended processes again, and how to end the stage.

Why it exists: `--keep` leaves processes behind, and the user must be able to find them again. In a cluster the kubelet
starts a controller again that lost its Lease; here a person does so after the laptop has slept. Invariant: only
processes that are in the stage's file, with their start times, are ended, and only processes in that file are started.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from demo.commands import Commands
from demo.stage import PROBES, Product, answers_at
from localcluster.errors import ClusterError
from localcluster.plane import Plane
from localcluster.process import Component, Program
from localcluster.state import read_state

FILE = "product.json"
READY_SECONDS = 60.0


class KeptProcess(msgspec.Struct, frozen=True):
    """One process of the product, and how it was started."""

    pid: int
    started_at: int | None
    command: tuple[str, ...] = ()


def plane_folder(folder: Path) -> Path:
    """The folder of a stage's plane."""
    return folder / "plane"


def write_down(product: Product, folder: Path) -> None:
    """Remember the product's processes."""
    _write({name: _kept(part) for name, part in product.components.items()}, folder)


def _kept(part: Component) -> KeptProcess:
    return KeptProcess(part.pid, part.started_at, tuple(part.program.command))


def _write(processes: Mapping[str, KeptProcess], folder: Path) -> None:
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(processes)))


def forget(folder: Path) -> None:
    """Delete the file of the processes, which have ended."""
    (folder / FILE).unlink(missing_ok=True)


def is_kept(folder: Path) -> bool:
    """Whether a stage was left up in that folder."""
    return read_state(plane_folder(folder)) is not None


async def stop(folder: Path) -> list[str]:
    """End the processes and the cluster that were left running; return the names of the ended ones."""
    ended = []
    for name, process in _processes(folder).items():
        part = _component(name, process, folder)
        if part.running:
            await part.terminate()
            ended.append(name)
    forget(folder)
    if is_kept(folder):
        await Plane.attach(plane_folder(folder)).shut_down()
        ended.append("the cluster")
    return ended


async def resume(folder: Path) -> list[str]:
    """Start again the processes of the product that have ended; return their names.

    Raises:
        ClusterError: nothing was left up there, or a process ended again.
    """
    known = _processes(folder)
    if not known or not is_kept(folder):
        raise ClusterError(f"no demo was left up in {folder}: python -m demo --keep starts one")
    parts = {name: _component(name, process, folder) for name, process in known.items()}
    ended = {name: part for name, part in parts.items() if not part.running}
    for part in ended.values():
        await part.start()
    _write(known | {name: _kept(part) for name, part in ended.items()}, folder)
    return list(ended)


def _component(name: str, process: KeptProcess, folder: Path) -> Component:
    program = Program(name, process.command, folder / f"{name}.log", tied=False)
    part = Component(program, answers_at(_probes(process.command)), READY_SECONDS)
    part.adopt(process.pid, process.started_at)
    return part


def _probes(command: tuple[str, ...]) -> str:
    """The address of the process's readiness probe."""
    given = (word.partition("=") for word in command)
    return next((value for flag, _, value in given if flag == PROBES), "")


def instructions(plane: Plane, commands: Commands, folder: Path) -> str:
    """How to go on with a stage that stays."""
    python = os.path.relpath(sys.executable)
    return f"""\
The cluster and Moonshift stay up. To go on:

  export KUBECONFIG={plane.kubeconfig("developer")}
  export PATH={commands.folder}:$PATH

  # look
  kubectl get rollout,virtualservice,destinationrule,pods
  moonshift get rollout/rollouts-demo -w
  # release the base page again, then the canary page again
  kubectl apply -f examples/istio-canary/app.yaml
  kubectl apply -f examples/istio-canary/change.yaml
  # approve
  kubectl-kruise rollout approve rollout/rollouts-demo
  moonshift approve rollout/rollouts-demo --step 1
  # logs
  tail -f {folder / "controller.log"} {folder / "luaworker.log"}
  # nothing moves? A controller that could not renew its Lease (the machine slept) ends, as it would in a cluster, where
  # it is started again; here by
  {python} -m demo --resume --dir {folder}

To end it:

  {python} -m demo --stop --dir {folder}

({python} -m localcluster down --dir {plane_folder(folder)}
ends the cluster alone, and leaves Moonshift's two processes.)"""


def _processes(folder: Path) -> dict[str, KeptProcess]:
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=dict[str, KeptProcess])
    except FileNotFoundError:
        return {}
