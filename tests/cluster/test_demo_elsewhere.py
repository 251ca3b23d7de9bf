"""`make demo KUBECONFIG=…`: the same demo on an existing cluster; a second plane is that cluster."""

import asyncio
import sys
from pathlib import Path

import pytest

from demo.stage import install_gateway_kinds
from localcluster.plane import Plane
from tests.cluster.secrecy import kept_product
from tests.cluster.test_demo import ROOT, play


@pytest.mark.full
async def test_the_demo_uses_a_namespace_of_its_own_and_leaves_nothing(
    plane_available: None, tmp_path: Path
) -> None:
    async with Plane.start(tmp_path / "plane") as plane:
        given = str(plane.kubeconfig("admin"))
        code, output = await play("--kubeconfig", given, "--dir", str(tmp_path / "demo"))
        assert (code, "Moonshift is not installed there" in output) == (1, True), output
        await install_gateway_kinds(plane)
        async with kept_product(plane, tmp_path / "product"):
            code, output = await play("--kubeconfig", given, "--dir", str(tmp_path / "demo"))
            assert code == 0, output
            assert "31 checks passed" in output
            left = await plane.kubectl("get", "namespaces", "-o", "name")
            assert "moonshift-demo" not in left
            assert await plane.kubectl("get", "deployments,rollouts", "-o", "name") == ""


@pytest.mark.parametrize(
    ("words", "kubeconfig"), [(["KUBECONFIG=/given"], "--kubeconfig=/given"), ([], "")]
)
async def test_make_demo_uses_another_cluster_only_if_the_cluster_is_named(
    words: list[str], kubeconfig: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        "make", "-n", "demo", f"PYTHON={sys.executable}", *words,
        cwd=ROOT, env={"PATH": "/usr/bin:/bin", "KUBECONFIG": "/of/the/environment"},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    (line,) = (line for line in output.decode().splitlines() if "-m demo" in line)
    assert line.partition("-m demo")[2].split() == ([kubeconfig] if kubeconfig else [])
