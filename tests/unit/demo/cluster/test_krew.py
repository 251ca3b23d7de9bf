"""The archive and the manifest for krew: their contents, and the launcher's message where Python is too old."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from demo.cluster import krew
from localcluster.errors import BuildError

REPOSITORY = "https://github.com/OWNER/moonshift"
MAIN = b"def main():\n    import json\n    print(json.__name__, __file__)\n"


def wheel(folder: Path, name: str, **files: str) -> Path:
    path = folder / f"{name}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return path


def unpacked(archive: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(archive)) as content:
        content.extractall(folder, filter="data")
    return folder


def installed(tmp_path: Path, minors: str | None = None) -> Path:
    """Give the link that krew would make, to an archive whose program prints where it is."""
    files = {"controller/cli/main.py": MAIN}
    home = unpacked(krew.packed(files, krew.LAUNCHER.read_bytes(), b""), tmp_path / "store")
    if minors is not None:
        (home / "lib" / krew.MINORS_FILE).write_text(minors)
    link = tmp_path / "bin" / "kubectl-moonshift"
    link.parent.mkdir()
    link.symlink_to(home / "kubectl-moonshift")
    return link


def run(link: Path) -> subprocess.CompletedProcess[str]:
    here = Path(sys.executable).parent
    environment = {"PATH": f"{here}:{os.environ['PATH']}"}
    return subprocess.run([link], env=environment, capture_output=True, text=True, check=False)


def test_compiled_modules_of_several_pythons_stand_in_one_folder(tmp_path: Path) -> None:
    common = {"p/__init__.py": "", "p.dist-info/WHEEL": "Tag: cp311", "p.dist-info/METADATA": "p"}
    other = {**common, "p.dist-info/WHEEL": "Tag: cp312"}
    wheels = [
        wheel(tmp_path, "p-cp311", **common, **{"p/fast.cpython-311.so": "a"}),
        wheel(tmp_path, "p-cp312", **other, **{"p/fast.cpython-312.so": "b"}),
    ]
    assert krew.library(wheels) == {
        "p/__init__.py": b"",
        "p.dist-info/METADATA": b"p",
        "p/fast.cpython-311.so": b"a",
        "p/fast.cpython-312.so": b"b",
    }


def test_the_archive_has_one_engine_of_lua(tmp_path: Path) -> None:
    names = ("lua51", "lua52", "lua53", "lua54", "lua55", "luajit20", "luajit21")
    engines = {f"lupa/{name}.cpython-311-x86_64-linux-gnu.so": "" for name in names}
    assert list(krew.library([wheel(tmp_path, "lupa", **engines)])) == [next(iter(engines))]


def test_packages_that_cannot_stand_in_one_folder_are_refused(tmp_path: Path) -> None:
    wheels = [wheel(tmp_path, name, **{"p/__init__.py": name}) for name in ("p-cp311", "p-cp312")]
    with pytest.raises(BuildError, match=r"p-cp312\.whl: p/__init__\.py differs"):
        krew.library(wheels)


def test_the_same_files_make_the_same_archive() -> None:
    files = {"b.py": b"2", "a.py": b"1"}
    first = krew.packed(files, b"#!", b"licence")
    assert first == krew.packed(dict(reversed(files.items())), b"#!", b"licence")
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        modes = {entry.name: entry.mode for entry in archive.getmembers()}
    assert modes == {
        "kubectl-moonshift": 0o755,
        **dict.fromkeys(("LICENSE", "lib/PYTHON", "lib/a.py", "lib/b.py"), 0o644),
    }


def test_the_manifest_names_each_archive_by_its_hash() -> None:
    archives = {"amd64": b"one", "arm64": b"two"}
    document = yaml.safe_load(krew.manifest("v1.2.3", REPOSITORY, archives))
    assert document["metadata"]["name"] == "moonshift"
    assert document["spec"]["version"] == "v1.2.3"
    assert len(document["spec"]["shortDescription"]) <= 50, "krew's index asks for it"
    for platform, (architecture, content) in zip(
        document["spec"]["platforms"], archives.items(), strict=True
    ):
        assert platform == {
            "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
            "uri": f"{REPOSITORY}/releases/download/v1.2.3/kubectl-moonshift-linux-{architecture}.tar.gz",
            "sha256": hashlib.sha256(content).hexdigest(),
            "bin": "kubectl-moonshift",
        }


def test_the_link_that_krew_makes_runs_the_packages_of_the_archive(tmp_path: Path) -> None:
    link = installed(tmp_path, f"{sys.version_info[0]}.{sys.version_info[1]}")
    (tmp_path / "bin" / "json.py").write_text("raise SystemExit('a stranger')")
    done = run(link)
    assert done.stdout == f"json {tmp_path}/store/lib/controller/cli/main.py\n", done.stderr


def test_a_python_that_the_archive_has_no_modules_for_is_reported_in_words(tmp_path: Path) -> None:
    done = run(installed(tmp_path, "9.8\n9.9"))
    assert done.returncode == 1
    assert "this archive needs one of 9.8, 9.9" in done.stderr


def test_the_pythons_of_the_archive_begin_with_the_one_that_tests_run_on() -> None:
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in krew.PYTHONS
