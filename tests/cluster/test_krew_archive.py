"""The archive for krew, unpacked and linked as krew does it: kubectl runs it as a plugin on a real control plane.

The link stands on PATH with a Python that has no packages of its own, so nothing of this checkout or of
its environment can help.
"""

import asyncio
import io
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from demo.cluster import krew
from demo.stage import ROOT, Product
from localcluster.build import ensure_built

pytestmark = pytest.mark.full
"""Wheels of three Python minors are fetched for it."""

SCRIPT = ROOT / "lua_configuration/trafficrouting_ingress/nginx.lua"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder with the link."""
    folder = tmp_path_factory.mktemp("krew")
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    krew.pack("v0.1.0", "https://github.com/OWNER/moonshift", folder, [architecture])
    archive = (folder / krew.archive_name(architecture)).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as content:
        content.extractall(folder / "store", filter="data")
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl-moonshift").symlink_to(folder / "store" / "kubectl-moonshift")
    (folder / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    return folder / "bin"


async def run(plugin: Path, *arguments: str, home: Path) -> str:
    """Run kubectl with nothing but the plugin and the system's programs on PATH; return its output."""
    kubectl = (await ensure_built()).kubectl
    done = await asyncio.to_thread(
        subprocess.run,
        [str(kubectl), "moonshift", *arguments],
        env={"PATH": f"{plugin}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_kubectl_runs_the_archive_as_its_plugin(
    plugin: Path, product: Product, tmp_path: Path
) -> None:
    kubeconfig = str(product.plane.kubeconfig("admin"))
    result = await run(plugin, "version", "--kubeconfig", kubeconfig, home=tmp_path)
    assert "0.1.0" in result


async def test_the_archive_has_the_packages_of_a_private_worker(
    plugin: Path, tmp_path: Path
) -> None:
    result = await run(plugin, "lint-script", str(SCRIPT), home=tmp_path)
    assert result == "1 script: 0 errors, 0 notes\n"
