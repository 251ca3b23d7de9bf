"""Every file that a person names is read within bounds, or refused in words."""

import os
from pathlib import Path

import pytest

from controller.cli import files
from controller.cli.failures import Failure
from controller.cli.files import read_bytes, read_text
from controller.cli.gates.own_sources import access_of
from controller.cli.script_tools.yaml_text import read_documents
from controller.cli.simulation.manifests import read_manifests

DEEP = 200_000
BLOCK = "\n".join("  " * level + f"a{level}:" for level in range(2_000))


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\n")
    assert read_bytes(tmp_path / "a") == b"\xff\n"
    assert read_text(tmp_path / "a", errors="replace") == "�\n"


def test_a_fifo_without_a_writer_holds_no_command(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(Failure, match="it is a pipe that nobody has opened, and not a file"):
        read_manifests([tmp_path])


def test_a_device_has_no_end_and_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("/dev/zero")
    with pytest.raises(Failure, match="it is a device or a socket"):
        read_manifests([tmp_path])
    with pytest.raises(Failure, match="cannot be read: it is a folder"):
        access_of("", (), tmp_path, None)


def test_a_pipe_of_the_shell_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"kind: A\n")
    os.close(writer)
    try:
        assert read_manifests([Path(f"/dev/fd/{reader}")]) == [{"kind": "A"}]
    finally:
        os.close(reader)


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", 1 << 20)
    (tmp_path / "a.yaml").write_bytes(b"#" * (1 << 20))
    assert read_manifests([tmp_path]) == []
    (tmp_path / "a.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(Failure, match="it has more than 1 MiB"):
        read_manifests([tmp_path])


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP + "1" + "}" * DEEP,
        "a: 1\n---\n" + "[" * DEEP,
        "- " * DEEP + "a",
        "? " * DEEP + "a",
        BLOCK,
    ],
    ids=["open", "flow", "objects", "second document", "dashes", "keys", "indented"],
)
def test_a_text_that_is_nested_too_deeply_ends_no_process(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(Failure, match=r"nested deeper than 100 levels, in line \d+"):
        read_manifests([tmp_path])


def test_brackets_in_a_text_and_wide_files_are_read() -> None:
    assert read_documents("a: '" + "[" * 1000 + "'") == [{"a": "[" * 1000}]
    assert read_documents("[" + "[]," * 1000 + "]") == [[[]] * 1000]
    assert read_documents("a: |\n" + " " * 300 + "- b\n") == [{"a": "- b\n"}]
