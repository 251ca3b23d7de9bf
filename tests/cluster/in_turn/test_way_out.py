"""Without a controller, every command in the section of docs/operations.md about that case has the documented
effect."""

import asyncio
import os
import re
import uuid

import pytest

from controller.api.names import ORIGINAL_SPEC, PIN, PINNED, WORKLOAD_TYPE
from demo.stage import ROOT, Product
from localcluster.plane import Plane
from tests.cluster.kinds import DEPLOYMENTS, RECORDED, ROLLOUTS, SERVICES, VIRTUAL_SERVICES, path_of
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story

DOCUMENT = ROOT / "docs" / "operations.md"
AWAY, STUCK = "When the controller is away", "When a Rollout cannot be deleted"
STEPS = (StepPlan(1, 20), StepPlan(2, 50))


def blocks(heading: str) -> list[str]:
    """The commands of a section, block by block."""
    section = DOCUMENT.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)


async def typed(plane: Plane, namespace: str, commands: str, **names: str) -> None:
    """Run the commands as a person would, with real names in place of the words in capitals."""
    for capitals, name in names.items():
        commands = re.sub(rf"\b{capitals}\b", name, commands)
    binary = plane.kubectl_path
    script = f'set -euo pipefail\nkubectl() {{ "{binary}" -n "{namespace}" "$@"; }}\n{commands}'
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        script,
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig("admin"))},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, f"{commands}\n{output.decode()}"


async def half_released(product: Product, story: Story) -> None:
    """A release waits in its first step, and the controller ends."""
    space = {"metadata": {"name": story.app.namespace}}
    await product.plane.client().create("/api/v1/namespaces", space)
    await story.begin()
    await story.paused_at(1)
    await product.controller.terminate()


@pytest.mark.parametrize("ending", ["by hand", "with its namespace"])
async def test_every_command_of_the_ways_out_works_without_a_controller(
    alone: Product, ending: str
) -> None:
    async with alone.plane.recorder(*RECORDED) as recorder:
        namespace = f"away-{uuid.uuid4().hex[:8]}"
        app = Application("shop", namespace, False, STEPS, virtual_service=True)
        story = Story(alone.plane, recorder, app)
        await half_released(alone, story)
        if ending == "by hand":
            await undone_by_hand(story)
        else:
            await gone_with_its_namespace(story)


async def undone_by_hand(story: Story) -> None:
    """Each block in the order of the document."""
    plane, namespace = story.plane, story.app.namespace
    rollout = await story.client.get(path_of(story.key(ROLLOUTS)))
    finalizer, by_hand, hold = blocks(STUCK)
    await story.client.delete(path_of(story.key(ROLLOUTS)))
    await typed(plane, namespace, finalizer, NAME="shop")
    await story.gone(ROLLOUTS)
    await typed(plane, namespace, by_hand, NAME="shop", UID=rollout["metadata"]["uid"])
    await typed(plane, namespace, hold, NAME="shop")
    for kind in (VIRTUAL_SERVICES, SERVICES, DEPLOYMENTS):
        seen = await story.client.get(path_of(story.key(kind)))
        wanted = story.expected[story.key(kind)]
        template = {"template": seen["spec"]["template"]} if kind == DEPLOYMENTS else {}
        assert seen["spec"] == {**wanted["spec"], **template}, kind
        metadata = seen["metadata"]
        ours = {ORIGINAL_SPEC, PIN, PINNED, WORKLOAD_TYPE}
        assert not ours & {*metadata.get("labels", {}), *metadata.get("annotations", {})}, kind
    assert story.key(SERVICES, "shop-canary") not in story.recorder.state()


async def gone_with_its_namespace(story: Story) -> None:
    """Run the first commands of both sections; then the namespace can be deleted."""
    plane, namespace = story.plane, story.app.namespace
    (leave,) = blocks(AWAY)
    await typed(plane, namespace, leave, NAME="shop")
    await story.client.delete(f"/api/v1/namespaces/{namespace}")
    await story.until(ROLLOUTS, lambda rollout: "deletionTimestamp" in rollout["metadata"])
    await typed(plane, namespace, blocks(STUCK)[0], NAME="shop")
    await story.gone(ROLLOUTS)
    await story.gone(DEPLOYMENTS)
