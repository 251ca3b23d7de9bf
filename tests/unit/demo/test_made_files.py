"""Generated files of the installation agree with their sources."""

from pathlib import Path

import pytest

from demo.cluster import chart, locks, status_schema

MADE = {**locks.lock_files(), **chart.templates(), **status_schema.files()}


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_the_file_is_up_to_date(path: Path) -> None:
    assert path.read_text() == MADE[path], "`make generate` writes it"


def test_the_worker_has_no_package_that_talks_to_a_cluster() -> None:
    text = locks.lock_file("luaworker").read_text()
    assert not [name for name in ("kr8s", "httpx", "aiohttp", "cryptography") if name in text]
    assert "pytest" not in locks.lock_file("controller").read_text()


TEMPLATES = sorted(chart.templates())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_object_of_the_chart_names_its_namespace_twice(path: Path) -> None:
    """Helm takes the last one; stricter readers of YAML refuse the object."""
    for document in path.read_text().split("\n---\n"):
        assert document.count("\n  namespace: ") <= 1
