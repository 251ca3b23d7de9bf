"""The commands of docs/operations.md uninstall Moonshift during a release, and leave nothing behind."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.stage import GATEWAY_KINDS, NAMESPACE, OVERLAY, ROOT
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.cluster import manifests
from tests.cluster.in_turn.test_way_out import blocks, typed
from tests.cluster.kinds import (
    DEPLOYMENTS,
    RECORDED,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    path_of,
)
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import kept_product
from tests.cluster.story import Story

LEAVING = "Taking Moonshift away"
SPACE = "leaving"
STEPS = (StepPlan(1, 20), StepPlan(2, 50))


async def moonshift(plane: Plane, *words: str) -> tuple[int, str]:
    """The command line, as the administrator; its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "controller.cli.main",
        *words,
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig("admin"))},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def to_be_done(plane: Plane) -> set[str]:
    """Kinds of objects that need a person first."""
    code, output = await moonshift(plane, "uninstall", "--check", "-A", "-o", "json")
    body: Any = json.loads(output)
    assert not body["gaps"], body
    kinds = {item["kind"] for item in body["items"] if item["first"]}
    assert code == (1 if kinds else 0)
    return kinds


async def test_the_documented_commands_leave_nothing_behind(
    plane_available: None, tmp_path: Path
) -> None:
    async with Plane.start(tmp_path / "plane") as plane:
        await plane.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        await plane.apply(yaml.safe_dump_all(manifests.nodes()))
        async with kept_product(plane, tmp_path / "product"):
            kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
            await plane.kubectl("get", kinds, "--all-namespaces")
            async with plane.recorder(*RECORDED) as recorder:
                app = Application("shop", SPACE, False, STEPS, virtual_service=True)
                story = Story(plane, recorder, app)
                await plane.client().create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
                await story.begin()
                await story.paused_at(1)
                await leaves(story)


async def leaves(story: Story) -> None:
    """Block by block, in the order of the document."""
    plane = story.plane
    _, rollouts, last = blocks(LEAVING)
    held = {"Rollout", "Deployment", "Service", "VirtualService"}
    assert await to_be_done(plane) == held
    await typed(plane, SPACE, rollouts)
    await story.gone(ROLLOUTS)
    assert await to_be_done(plane) == set()
    last = last.replace("deploy/crds", str(ROOT / "deploy" / "crds"))
    await typed(plane, NAMESPACE, last.replace("-k .", f"-k {OVERLAY}"))
    for kind in (VIRTUAL_SERVICES, SERVICES):
        seen = await story.client.get(path_of(story.key(kind)))
        assert seen["spec"] == story.expected[story.key(kind)]["spec"], kind
    patched = {"spec": {"template": {"metadata": {"annotations": {"changed": "again"}}}}}
    await story.client.patch(path_of(story.key(DEPLOYMENTS)), patched)
    await story.pods_ready()
    with pytest.raises(RequestRefused, match="404"):
        await story.client.get(path_of(story.key(ROLLOUTS)))
