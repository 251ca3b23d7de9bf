"""An earlier version of the product: its files, its images, its manifests.

Why it exists: nobody has published a version that upgrades could be tried from, so an earlier commit stands for it.
Invariant: images are built by that commit's own files; on the node they have a tag of their own. It must not touch the
repository.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest
import yaml

from demo.cluster.images import Images, image_name
from demo.cluster.locks import PROCESSES, ROOT
from localcluster.node.plane import NodePlane

COMMITS_BACK = 30
TAG = "previous"


async def previous_version(folder: Path) -> Path:
    """Write the files of an earlier commit into `folder`; skip if there is no history."""
    commit = (await _git("rev-list", f"--skip={COMMITS_BACK}", "--max-count=1", "HEAD")).strip()
    if not commit:
        pytest.skip(f"this checkout has no commit {COMMITS_BACK} before its own")
    archive = folder / "previous.tar"
    await _git("archive", f"--output={archive}", commit)
    version = folder / "version"
    version.mkdir()
    await _run(folder, "tar", "--extract", f"--file={archive}", f"--directory={version}")
    return version


async def load_previous_images(node: NodePlane, version: Path, present: Images) -> None:
    """Build the images of the earlier version and give them to the node, beside those of `present`."""
    output = await _run(version, sys.executable, "-m", "demo.cluster.images")
    archives = [Path(word) for word in output.split() if word.endswith(".tar")]
    assert len(archives) == len(PROCESSES), output
    await node.load_images(*archives)
    for process in PROCESSES:
        name = image_name(process)
        earlier = f"{name.rpartition(':')[0]}:{TAG}"
        await node.inside("ctr", "--namespace=k8s.io", "images", "tag", "--force", name, earlier)
    await node.load_images(*present.archives)


def kustomization(version: Path, folder: Path) -> Path:
    """Write a kustomization that installs the earlier version."""
    body = {
        "resources": [os.path.relpath(version / "deploy" / "kustomize", folder)],
        "images": [{"name": f"moonshift-{process}", "newTag": TAG} for process in PROCESSES],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder


async def _git(*arguments: str) -> str:
    return await _run(ROOT, "git", *arguments)


async def _run(folder: Path, *command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()[-2000:]
    return output.decode()
