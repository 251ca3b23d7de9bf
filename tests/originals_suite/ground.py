"""The ground of the original's tests: a cluster with OpenKruise, Istio's definitions, and a Rollout controller.

Why it exists: the original's CI installs these before its specs run. Invariant: the definitions are those that the
suite brings with it; the controller is Moonshift, installed from its manifests, and has answered a first Rollout, so
that no spec meets the API server while it still makes the storage of new kinds. It must not know a spec.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from demo.stage import Product, product
from localcluster.openkruise import start_kruise
from localcluster.plane import Plane
from localcluster.progress import Reporter

DEFINITIONS = ("customNetworkProvider/istio_crd.yaml", "crds/httproutes.yaml")
FIRST = "before-the-specs"
FIRST_ROLLOUT = "rollout/rollout_v1beta1_canary_base.yaml"


@asynccontextmanager
async def ground(folder: Path, manifests: Path, reporter: Reporter) -> AsyncIterator[Product]:
    """Give a plane with all of it, until the block ends; logs are left in the folder."""
    async with Plane.start(folder / "plane", reporter=reporter) as plane:
        with reporter.phase("install OpenKruise"):
            await start_kruise(plane, reporter)
        for definitions in DEFINITIONS:
            await plane.kubectl("apply", "--server-side", "-f", str(manifests / definitions))
        async with product(plane, folder / "product") as running:
            await _answers(plane, yaml.safe_load((manifests / FIRST_ROLLOUT).read_text()))
            yield running


async def _answers(plane: Plane, rollout: dict[str, Any]) -> None:
    """Return when the controller has written the status of a first Rollout, whose workload is not there."""
    namespaces = "/api/v1/namespaces"
    await plane.client().create(namespaces, {"metadata": {"name": FIRST}})
    rollout["metadata"]["namespace"] = FIRST
    await plane.apply(yaml.safe_dump(rollout))
    await plane.kubectl(
        "wait", "--namespace", FIRST, "--for=jsonpath={.status.phase}=Initial", "--timeout=60s",
        f"rollouts.rollouts.kruise.io/{rollout['metadata']['name']}",
    )  # fmt: skip
    await plane.client().delete(f"{namespaces}/{FIRST}")
