"""A stage that stays up after the demo: how to go on, and how to end it.

Why it exists: `--keep` leaves processes behind, and whoever left them must be able to find them again. Invariant: only
processes that were written down, with their start times, are ended. It must not start any.
"""

import os
import sys
from pathlib import Path

import msgspec

from demo.commands import Commands
from demo.stage import Product
from localcluster.plane import Plane
from localcluster.process import Component, Program
from localcluster.state import ProcessState, read_state

FILE = "product.json"


def plane_folder(folder: Path) -> Path:
    """Where a stage's plane is."""
    return folder / "plane"


def write_down(product: Product, folder: Path) -> None:
    """Remember the product's processes."""
    found = {
        name: ProcessState(part.pid, part.started_at) for name, part in product.components.items()
    }
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(found)))


def forget(folder: Path) -> None:
    """Drop what was written down: the processes have ended."""
    (folder / FILE).unlink(missing_ok=True)


def is_kept(folder: Path) -> bool:
    """Whether a stage was left up in that folder."""
    return read_state(plane_folder(folder)) is not None


async def stop(folder: Path) -> list[str]:
    """End what was left up; return the names of what was ended."""
    ended = []
    for name, process in _processes(folder).items():
        part = Component(Program(name, (), folder / f"{name}.log"), _never, 0.0)
        part.adopt(process.pid, process.started_at)
        if part.running:
            await part.terminate()
            ended.append(name)
    forget(folder)
    if is_kept(folder):
        await Plane.attach(plane_folder(folder)).shut_down()
        ended.append("the cluster")
    return ended


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

To end it:

  {python} -m demo --stop --dir {folder}

({python} -m localcluster down --dir {plane_folder(folder)}
ends the cluster alone, and leaves Moonshift's two processes.)"""


def _processes(folder: Path) -> dict[str, ProcessState]:
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=dict[str, ProcessState])
    except FileNotFoundError:
        return {}


async def _never() -> bool:
    return False
