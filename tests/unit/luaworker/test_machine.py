"""The CPU and memory that a container may use, and the number of scripts at a time that follows."""

import os
from pathlib import Path

import pytest

from luaworker import machine, settings
from luaworker.settings import MEGABYTE, Settings


def cgroup(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("text", "expected"), [("100000 100000", 1), ("20000 100000", 1), ("150000 100000", 2)]
)
def test_the_quota_of_a_container_counts(
    tmp_path: Path, text: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    assert machine.cores(cgroup(tmp_path, cpu_max=text)) == expected


@pytest.mark.parametrize("files", [{}, {"cpu_max": "max 100000"}], ids=["no-cgroup", "no-quota"])
def test_without_a_quota_the_machine_counts(tmp_path: Path, files: dict[str, str]) -> None:
    assert machine.cores(cgroup(tmp_path, **files)) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "expected"),
    [({"memory_max": "1073741824"}, 1 << 30), ({"memory_max": "max"}, None), ({}, None)],
)
def test_the_memory_of_a_container_counts(
    tmp_path: Path, files: dict[str, str], expected: int | None
) -> None:
    assert machine.memory_limit(cgroup(tmp_path, **files)) == expected


@pytest.mark.parametrize(
    ("cores", "memory", "expected"),
    [(1, None, 4), (2, None, 6), (64, 1024, 9), (64, 128, 1), (2, 4096, 6)],
)
def test_as_many_scripts_run_as_cores_and_memory_allow(
    cores: int, memory: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "cores", lambda: cores)
    limit = None if memory is None else memory * MEGABYTE
    monkeypatch.setattr(settings, "memory_limit", lambda: limit)
    assert Settings(listen="").running == expected
    assert Settings(listen="", concurrency=3).running == 3
