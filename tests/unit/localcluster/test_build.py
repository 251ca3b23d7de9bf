"""The sources of the programs."""

import asyncio
import fcntl
import re
from pathlib import Path

import pytest

from localcluster import build
from localcluster.errors import BuildError
from localcluster.progress import SilentReporter
from localcluster.releases import (
    CHOSEN_VARIABLE,
    OLDEST,
    RELEASES,
    KubernetesRelease,
    chosen_release,
)


class NotingReporter(SilentReporter):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MOONSHIFT_CACHE", str(tmp_path))
    monkeypatch.delenv(build.ASSETS_VARIABLE, raising=False)
    monkeypatch.delenv(CHOSEN_VARIABLE, raising=False)
    (tmp_path / "localcluster").mkdir()
    return tmp_path / "localcluster"


def fill(directory: Path, *names: str) -> None:
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).touch()


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOONSHIFT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert build.cache_root() == Path("/x/moonshift/localcluster")
    monkeypatch.setenv("MOONSHIFT_CACHE", "/m")
    assert build.cache_root() == Path("/m/localcluster")


def test_the_key_depends_on_sources_and_flags(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kwok").mkdir()
    (tmp_path / "main.go").write_text("package main")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    keys = [build.cache_key(), build.cache_key()]
    (tmp_path / "main.go").write_text("package other")
    keys.append(build.cache_key())
    monkeypatch.setattr(build, "linker_flags", lambda _release: "-s")
    keys.append(build.cache_key())
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_the_version_is_stamped_into_server_and_client() -> None:
    flags = build.linker_flags()
    for package in ("component-base", "client-go/pkg"):
        assert f"-X k8s.io/{package}/version.gitVersion={build.KUBERNETES_VERSION}" in flags


def test_each_release_has_a_build_of_its_own_that_says_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newest = build.cache_key()
    monkeypatch.setenv(CHOSEN_VARIABLE, OLDEST.minor)
    assert build.cache_key() != newest
    flags = build.linker_flags(chosen_release())
    assert "gitVersion=v1.32." in flags
    assert "gitMinor=32" in flags


def test_an_unknown_release_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CHOSEN_VARIABLE, "1.20")
    with pytest.raises(BuildError, match=r"MOONSHIFT_KUBERNETES=1\.20.*1\.32 or 1\.35"):
        chosen_release()


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.minor)
def test_the_pinned_modules_are_of_the_release(release: KubernetesRelease) -> None:
    pins = (build.SOURCES / release.module_file).read_text()
    staged = release.version.replace("v1.", "v0.", 1)
    assert f"k8s.io/kubernetes {release.version}\n" in pins
    replaced = set(re.findall(r"^\tk8s.io/\S+ => k8s.io/\S+ (\S+)$", pins, re.MULTILINE))
    assert replaced == {staged}
    assert f"k8s.io/apiserver {staged} h1:" in (build.SOURCES / release.sum_file).read_text()


async def test_a_built_program_is_not_built_again(cache: Path) -> None:
    directory = cache / build.cache_key()
    fill(directory, *build.MULTICALL, "kwok")
    binaries = await build.ensure_built()
    assert binaries.directory == directory
    assert binaries.kwok == directory / "kwok"


async def test_given_assets_come_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(cache / build.cache_key(), *build.MULTICALL, "kwok")
    fill(tmp_path / "assets", "kube-apiserver", "etcd")
    monkeypatch.setenv(build.ASSETS_VARIABLE, str(tmp_path / "assets"))
    binaries = await build.ensure_built()
    assert binaries.etcd == tmp_path / "assets" / "etcd"
    assert binaries.kube_apiserver == tmp_path / "assets" / "kube-apiserver"
    assert binaries.kube_scheduler == cache / build.cache_key() / "kube-scheduler"


def test_a_needed_build_is_known_in_advance(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not build.is_built()
    fill(tmp_path / "assets", "kube-apiserver", "etcd")
    monkeypatch.setenv(build.ASSETS_VARIABLE, str(tmp_path / "assets"))
    assert not build.is_built()
    fill(cache / build.cache_key(), *build.MULTICALL, "kwok")
    assert build.is_built()


async def test_assets_without_a_server_are_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(tmp_path / "assets", "kubectl")
    monkeypatch.setenv(build.ASSETS_VARIABLE, str(tmp_path / "assets"))
    with pytest.raises(BuildError, match="kube-apiserver"):
        await build.ensure_built()
    assert list(cache.parent.glob("localcluster/*")) == []


async def test_a_second_builder_waits_says_so_and_takes_the_firsts_result(cache: Path) -> None:
    directory = cache / build.cache_key()
    reporter = NotingReporter()
    with (cache / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = asyncio.create_task(build.ensure_built(reporter))
        async with asyncio.timeout(60):
            while not reporter.notes:  # noqa: ASYNC110 - one loop turn after the other, no time
                await asyncio.sleep(0)
        fill(directory, *build.MULTICALL, "kwok")
    assert (await waiting).directory == directory
    assert "waiting" in reporter.notes[0]
