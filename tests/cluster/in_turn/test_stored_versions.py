"""Objects that an older definition stored as v1alpha1 are stored as v1beta1 by the commands of docs/operations.md.

Why: the version v1alpha1 can be removed from the definition only when no object in etcd has it; reading an object
through the API server never shows in which version it is stored, so the test looks into etcd.
"""

import asyncio
import base64
import json
import os
import re

import aiohttp

from demo.stage import ROOT, Product
from localcluster.plane import Plane
from tests.cluster.conftest import fresh_namespace
from tests.cluster.in_turn.conftest import deletions_ended
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.rollouts.kruise.io"
DOCUMENT = ROOT / "docs" / "operations.md"
COMMANDS = re.compile(r"```sh\n(kubectl get rollouts\.v1beta1.*?)```", re.DOTALL)


async def store_as(plane: Plane, version: str) -> None:
    """New writes of Rollouts are stored in this version."""
    crd = await plane.client().get(CRD)
    versions = [{**one, "storage": one["name"] == version} for one in crd["spec"]["versions"]]
    await plane.client().patch(CRD, {"spec": {"versions": versions}})


async def stored(plane: Plane, namespace: str) -> list[str]:
    """The versions in etcd of the Rollouts of a namespace."""
    prefix = f"/registry/rollouts.kruise.io/rollouts/{namespace}/".encode()
    end = prefix[:-1] + bytes([prefix[-1] + 1])
    asked = {
        name: base64.b64encode(key).decode() for name, key in (("key", prefix), ("range_end", end))
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{plane.layout.etcd_url}/v3/kv/range", json=asked) as answer,
    ):
        found = (await answer.json(content_type=None)).get("kvs", [])
    return [json.loads(base64.b64decode(one["value"]))["apiVersion"] for one in found]


async def test_the_printed_commands_store_every_rollout_in_the_present_version(
    alone: Product,
) -> None:
    plane = alone.plane
    (commands,) = COMMANDS.findall(DOCUMENT.read_text())
    await deletions_ended(plane)  # a Rollout that goes away meanwhile makes `kubectl replace` fail
    await store_as(plane, "v1alpha1")
    async with fresh_namespace(plane) as namespace, plane.recorder(*RECORDED) as recorder:
        app = Application("shop", namespace, False, (StepPlan(1, 20), StepPlan(2, 50)))
        story = Story(plane, recorder, app)
        await story.begin()
        await story.paused_at(1)
        before = await story.status()
        assert await stored(plane, namespace) == ["rollouts.kruise.io/v1alpha1"]
        await store_as(plane, "v1beta1")
        shell = await asyncio.create_subprocess_exec(
            "bash", "-euo", "pipefail", "-c", commands,
            env={**os.environ, "KUBECONFIG": str(plane.kubeconfig("admin")),
                 "PATH": f"{plane.kubectl_path.parent}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert await shell.wait() == 0
        assert await stored(plane, namespace) == ["rollouts.kruise.io/v1beta1"]
        crd = await plane.client().get(CRD)
        assert crd["status"]["storedVersions"] == ["v1beta1"]
        assert (await story.status())["canaryStatus"] == before["canaryStatus"]
        await story.approve(1)
        await story.paused_at(2)
