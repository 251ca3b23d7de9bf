"""Holds a node with a running pod until it is killed: `python -m tests.node.holder FOLDER`.

Why it exists: only another process can see the processes that a killed starter leaves behind. It prints
one line of JSON when the pod runs: the keeper of the box and the first process inside.
"""

import asyncio
import json
import sys
from pathlib import Path

import yaml

from localcluster.node.lines import BOX
from localcluster.node.plane import NodePlane
from localcluster.node.programs import node_programs
from tests.node import apps


async def hold(folder: Path) -> None:
    """Start a node and a pod, say so, wait."""
    async with NodePlane.start(folder) as node:
        image = f"{apps.IMAGE}:v1"
        await node.load_program(image, node_programs().greeter.binary, {"VERSION": "v1"})
        await node.apply(yaml.safe_dump(apps.deployment("web")))
        await node.kubectl("rollout", "status", "deployment/web")
        first = int(node.node_layout.box.read_text())
        sys.stdout.write(json.dumps({"keeper": node.components[BOX].pid, "first": first}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1])))
