"""Both images: small, listed, the same when they are built again, and possible on arm64."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from demo.cluster.images import VERSION, build_again, compressed_size, ensure_images
from demo.cluster.locks import PROCESSES, lock_file
from demo.cluster.sbom import config_digest
from localcluster.progress import SilentReporter

pytestmark = pytest.mark.full
"""Each build takes a minute or two: part of `make test-full`."""

LARGEST = 120_000_000
"""Bytes that a registry sends for an image."""
PLATFORMS = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 28, 31, 36)]
ENGINES = {"pkg:generic/lua@5.1.5"}


async def test_an_image_is_no_larger_than_promised() -> None:
    images = await ensure_images(SilentReporter())
    for archive in images.archives:
        assert compressed_size(archive) <= LARGEST, archive.name


async def test_the_list_of_parts_has_every_pin_and_one_engine() -> None:
    images = await ensure_images(SilentReporter())
    for process, path in zip(PROCESSES, images.documents, strict=True):
        document = json.loads(path.read_text())
        listed = {one["purl"] for one in document["components"]}
        lines = lock_file(process).read_text().splitlines()
        pins = [line.split()[0] for line in lines if "==" in line]
        assert {f"pkg:pypi/{pin.replace('==', '@')}" for pin in pins} <= listed
        assert f"pkg:pypi/moonshift@{VERSION}" in listed
        assert any(purl.startswith("pkg:deb/debian/libc6@") for purl in listed)
        assert {one for one in listed if "/lua@" in one} == (
            ENGINES if process == "luaworker" else set()
        )


@pytest.mark.parametrize("process", PROCESSES)
async def test_an_image_is_the_same_when_it_is_built_again(process: str, tmp_path: Path) -> None:
    first, again = tmp_path / "first.tar", tmp_path / "again.tar"
    for archive in (first, again):
        await build_again(process, archive)
    assert config_digest(again) == config_digest(first)


@pytest.mark.parametrize("process", PROCESSES)
async def test_every_pin_has_a_wheel_for_arm64(process: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"),
        *("--only-binary=:all:", "--python-version=3.11", "--implementation=cp", *PLATFORMS),
        *(f"--dest={tmp_path}", f"--requirement={lock_file(process)}"),
    ]
    running = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await running.communicate()
    assert running.returncode == 0, output.decode()
    pins = [line for line in lock_file(process).read_text().splitlines() if "==" in line]
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".whl")]) == len(pins)
