"""Packs `kubectl moonshift` for krew: one archive for each platform, and the manifest that names them.

Why it exists: people install kubectl's plugins with krew, which unpacks an archive and links one file of it. Invariant:
an archive holds the packages that the lock files pin, with their hashes checked; the compiled modules of several
Python minors stand side by side in one folder, since their file names differ; the same sources give the same archive.
It must not publish anything.
"""

import argparse
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from demo.cluster.locks import PROCESSES, ROOT, lock_file
from localcluster.errors import BuildError

PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS: Mapping[str, tuple[str, ...]] = {
    "amd64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
}
"""Go's name of an architecture → its name in wheels. The worker that runs scripts needs Linux."""
LAUNCHER = ROOT / "deploy" / "krew" / "kubectl-moonshift"
NAME = "moonshift"
MINORS_FILE = "PYTHON"
_DIFFERS = ("RECORD", "WHEEL")
"""Files of a wheel's own description that name its Python."""
_OTHER_LUAS = re.compile(r"lupa/(lua5[2345]|luajit).*\.so")
"""Engines that the worker does not use: not in the images, either."""


def archive_name(architecture: str) -> str:
    """Return the file name of an archive."""
    return f"kubectl-{NAME}-linux-{architecture}.tar.gz"


def fetch_wheels(architecture: str, folder: Path) -> None:
    """Put the wheels that the lock files pin, for every Python minor, and our own into `folder`.

    Raises:
        BuildError: pip refused; the message has its last lines.
    """
    locks = [part for name in PROCESSES for part in ("-r", str(lock_file(name)))]
    names = [part for name in PLATFORMS[architecture] for part in ("--platform", name)]
    for minor in PYTHONS:
        _pip(
            *("download", "--require-hashes", "--only-binary=:all:", "--no-deps"),
            *("--python-version", minor, *names, "--dest", str(folder), *locks),
        )
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"pip {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def library(wheels: Iterable[Path]) -> dict[str, bytes]:
    """Return the files of all wheels together: path below `lib` → content.

    Raises:
        BuildError: two wheels have different files of one name, so they cannot stand in one folder.
    """
    files: dict[str, bytes] = {}
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                content = archive.read(name)
                if name.endswith(("/", *_DIFFERS)) or _OTHER_LUAS.fullmatch(name):
                    continue
                if files.setdefault(name, content) != content:
                    raise BuildError(f"{wheel.name}: {name} differs from that of another wheel")
    return files


def packed(files: Mapping[str, bytes], launcher: bytes, license_text: bytes) -> bytes:
    """Return the archive: the launcher, the licence and the packages, without dates and owners."""
    content = {f"kubectl-{NAME}": launcher, "LICENSE": license_text}
    content |= {f"lib/{name}": data for name, data in files.items()}
    content[f"lib/{MINORS_FILE}"] = "\n".join(PYTHONS).encode()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(content):
            entry = tarfile.TarInfo(name)
            entry.size = len(content[name])
            entry.mode = 0o755 if name == f"kubectl-{NAME}" else 0o644
            archive.addfile(entry, io.BytesIO(content[name]))
    return gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)


def manifest(version: str, repository: str, archives: Mapping[str, bytes]) -> str:
    """Return krew's manifest of a release's archives (architecture → content) in the GitHub `repository`, a URL."""
    platforms = [
        {
            "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
            "uri": f"{repository}/releases/download/{version}/{archive_name(architecture)}",
            "sha256": hashlib.sha256(content).hexdigest(),
            "bin": f"kubectl-{NAME}",
        }
        for architecture, content in archives.items()
    ]
    document = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": version,
            "homepage": repository,
            "shortDescription": "See, approve and take back releases in steps",
            "description": "Shows releases of Moonshift and of OpenKruise Rollouts, says why one waits, approves\n"
            "steps, takes a release back, and tries gateway scripts and metric gates.\n",
            "caveats": f"Needs python3 on PATH: Python {', '.join(PYTHONS[:-1])} or {PYTHONS[-1]}.\n",
            "platforms": platforms,
        },
    }
    return str(yaml.safe_dump(document, sort_keys=False, width=120))


def pack(version: str, repository: str, folder: Path, architectures: Iterable[str]) -> None:
    """Write the archives and the manifest into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    archives: dict[str, bytes] = {}
    for architecture in architectures:
        with tempfile.TemporaryDirectory(prefix="wheels-") as wheels:
            fetch_wheels(architecture, Path(wheels))
            files = library(Path(wheels).glob("*.whl"))
        license_text = (ROOT / "LICENSE").read_bytes()
        archives[architecture] = packed(files, LAUNCHER.read_bytes(), license_text)
        (folder / archive_name(architecture)).write_bytes(archives[architecture])
    (folder / f"{NAME}.yaml").write_text(manifest(version, repository, archives))


def main() -> None:
    """Pack for the version and repository of the command line."""
    parser = argparse.ArgumentParser(description="Pack kubectl moonshift for krew.")
    parser.add_argument("version", help="such as v0.1.0")
    parser.add_argument("repository", help="such as https://github.com/OWNER/moonshift")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "krew", help="where to write")
    arguments = parser.parse_args()
    pack(arguments.version, arguments.repository, arguments.to, PLATFORMS)
    print(arguments.to / f"{NAME}.yaml")


if __name__ == "__main__":
    main()
