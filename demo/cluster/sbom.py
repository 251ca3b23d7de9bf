"""The parts of an image, as a CycloneDX document (1.6, JSON): `python -m demo.cluster.sbom ARCHIVE NAME VERSION`.

Why it exists: a user of an image wants to know its parts before a scanner guesses them. Invariant: every component is
read from the image itself (the lists of Debian's and of Python's packages that it contains), and the same image gives
the same document. It must not reach a network.
"""

import hashlib
import io
import json
import re
import sys
import tarfile
import uuid
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DEBIAN = "var/lib/dpkg/status"
PYTHON = re.compile(r"opt/moonshift/.*/[^/]+\.dist-info/METADATA$")
ENGINE = re.compile(r"opt/moonshift/.*/lupa/lua51\.[^/]+\.so$")
# Lua has no version in the file that can be read for 5.1; lupa has contained the last of its line since 2.0.
ENGINE_VERSION = "5.1.5"
NAMESPACE = uuid.UUID("5f0c8c0e-5d7f-4d36-8a2e-6d4c0b1f7a10")
"""The namespace of the serial numbers, which follow from the images."""


def document(archive: Path, name: str, version: str) -> Json:
    """Return the document of an image that was written by `docker save` or `buildah push docker-archive:`."""
    digest = config_digest(archive)
    components = sorted(_components(archive), key=lambda one: str(one["purl"]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": digest,
                "name": name,
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}],
            }
        },
        "components": components,
        "dependencies": [{"ref": digest, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def config_digest(archive: Path) -> str:
    """Return the digest of an image's configuration, which names all its layers."""
    with tarfile.open(archive) as tar:
        (manifest,) = json.load(_file(tar, "manifest.json"))
        return f"sha256:{hashlib.sha256(_file(tar, manifest['Config']).read()).hexdigest()}"


def write_document(archive: Path, name: str, version: str) -> Path:
    """Write the document beside the archive."""
    path = archive.with_suffix(".cdx.json")
    path.write_text(json.dumps(document(archive, name, version), indent=1) + "\n")
    return path


def _components(archive: Path) -> Iterator[Json]:
    with tarfile.open(archive) as tar:
        (manifest,) = json.load(_file(tar, "manifest.json"))
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=_file(tar, layer)) as files:
                yield from _of_layer(files)


def _of_layer(files: tarfile.TarFile) -> Iterator[Json]:
    for member in files:
        if member.name == DEBIAN:
            yield from debian_packages(_file(files, member.name).read().decode())
        elif PYTHON.search(member.name):
            yield python_package(_file(files, member.name).read().decode())
        elif ENGINE.search(member.name):
            yield _component("Lua", ENGINE_VERSION, f"pkg:generic/lua@{ENGINE_VERSION}", "MIT")


def debian_packages(status: str) -> Iterator[Json]:
    """Return the installed packages that a dpkg status file lists."""
    for stanza in status.split("\n\n"):
        fields = HeaderParser().parsestr(stanza.strip())
        if "installed" not in (fields["Status"] or "").split():
            continue
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        quoted = version.replace("+", "%2B").replace(":", "%3A")
        yield _component(
            name, version, f"pkg:deb/debian/{name}@{quoted}?arch={architecture}&distro=debian-12"
        )


def python_package(metadata: str) -> Json:
    """Return the package that a METADATA file describes."""
    fields = HeaderParser().parsestr(metadata)
    name = re.sub(r"[-_.]+", "-", fields["Name"]).lower()
    version = fields["Version"]
    return _component(name, version, f"pkg:pypi/{name}@{version}", fields["License-Expression"])


def _component(name: str, version: str, purl: str, licence: str | None = None) -> Json:
    component: Json = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }
    return component | ({"licenses": [{"expression": licence}]} if licence else {})


def _file(tar: tarfile.TarFile, name: str) -> io.BufferedReader:
    found = tar.extractfile(name)
    if found is None:
        raise ValueError(f"{name} is no file")
    return found  # type: ignore[return-value]  # of a regular file it is a buffered reader


if __name__ == "__main__":
    path, image, tag = sys.argv[1:]
    print(json.dumps(document(Path(path), image, tag), indent=1))
