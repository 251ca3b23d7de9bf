"""Programs beside the control plane: their names contain their sources, and they are independent of it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster import build, extras
from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.openkruise import KRUISE, WEBHOOKS, chosen
from localcluster.progress import Reporter
from localcluster.toolchain import GoToolchain


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Extra:
    monkeypatch.setenv("MOONSHIFT_CACHE", str(tmp_path / "cache"))
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module example.org/it\n")
    (module / "go.sum").write_text("")
    return Extra("it", Program(module, ".", "It"), {"example.org/dependency": ("crds", "one.yaml")})


def test_the_key_depends_on_the_sources_and_the_kept_files(extra: Extra) -> None:
    keys = [extra.key(), extra.key()]
    (extra.program.module / "main.go").write_text("package main")
    keys.append(extra.key())
    keys.append(Extra("it", extra.program, {}).key())
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_the_tests_of_a_package_are_another_program_than_its_main_function(extra: Extra) -> None:
    tests = replace(extra, program=replace(extra.program, is_test=True))
    assert tests.key() != extra.key()


def test_no_extra_is_part_of_the_control_planes_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    for name in ("go.mod", "go.sum", "main.go", "kwok/go.mod", "kwok/go.sum"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    before = build.cache_key()
    (tmp_path / "kruise").mkdir()
    (tmp_path / "kruise" / "go.mod").write_text("another")
    assert build.cache_key() == before


async def test_program_and_kept_sources_appear_together_and_are_built_once(
    extra: Extra, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    builds: list[str] = []
    sources = tmp_path / "sources"
    (sources / "crds").mkdir(parents=True)
    (sources / "crds" / "a.yaml").write_text("a")
    (sources / "one.yaml").write_text("1")
    (sources / "one.yaml").chmod(0o444)

    async def compile_program(_: GoToolchain, program: Program, output: Path, __: Reporter) -> None:
        builds.append(program.title)
        os.symlink("program", output)

    async def ensure_go(*_: object) -> GoToolchain:
        return GoToolchain(Path("/go"), "1.26")

    async def module_folder(*_: object) -> Path:
        return sources

    monkeypatch.setattr(extras, "compile_program", compile_program)
    monkeypatch.setattr(extras, "ensure_go", ensure_go)
    monkeypatch.setattr(extras, "module_folder", module_folder)
    built: list[BuiltExtra] = [await ensure_extra(extra), await ensure_extra(extra)]
    assert builds == ["It"]
    assert built[0] == built[1]
    assert os.readlink(built[0].binary) == "program"
    assert built[0].source("example.org/dependency", "crds/a.yaml").read_text() == "a"
    assert built[0].source("example.org/dependency", "one.yaml").read_text() == "1"


def test_only_objects_without_pods_are_taken_from_openkruises_installation() -> None:
    names = ("mcloneset.kb.io", "mpod.kb.io", "msidecarset.kb.io")
    hooks = [{"name": name} for name in names]
    taken = chosen(
        [
            {"kind": "Namespace"},
            {"kind": "Deployment"},
            {"kind": "MutatingWebhookConfiguration", "webhooks": hooks},
        ]
    )
    assert taken == [
        {"kind": "Namespace"},
        {"kind": "MutatingWebhookConfiguration", "webhooks": [{"name": "mcloneset.kb.io"}]},
    ]
    assert len(WEBHOOKS) == 6


def test_the_built_kruise_is_the_pinned_one() -> None:
    text = (KRUISE.program.module / "go.mod").read_text()
    assert "github.com/openkruise/kruise v1.8.0" in text
    assert text.count(" => ") == 29
