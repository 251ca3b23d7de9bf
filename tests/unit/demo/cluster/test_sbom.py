"""The list of an image's parts is read from the image."""

import io
import json
import tarfile
from pathlib import Path

from demo.cluster.sbom import debian_packages, document, python_package

STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u10
Description: GNU C Library
 with more lines

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1:2.0
"""
METADATA = "Metadata-Version: 2.4\nName: Typing_Extensions\nVersion: 4.16.0\nLicense-Expression: PSF-2.0\n\nText\n"
SITE = "opt/moonshift/lib/python3.11/site-packages"


def archive(path: Path, files: dict[str, str]) -> Path:
    """An image with one layer, as `docker save` writes it."""
    layer = tar_of({name: text.encode() for name, text in files.items()})
    manifest = [{"Config": "config.json", "RepoTags": ["x"], "Layers": ["layer.tar"]}]
    content = {
        "layer.tar": layer,
        "config.json": b"{}",
        "manifest.json": json.dumps(manifest).encode(),
    }
    path.write_bytes(tar_of(content))
    return path


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_installed_packages_of_the_base_are_listed_and_others_are_not() -> None:
    (found,) = debian_packages(STATUS)
    assert found["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12"


def test_a_python_package_has_its_normal_name_and_its_licence() -> None:
    found = python_package(METADATA)
    assert found["purl"] == "pkg:pypi/typing-extensions@4.16.0"
    assert found["licenses"] == [{"expression": "PSF-2.0"}]


def test_all_parts_of_an_image_are_in_its_document(tmp_path: Path) -> None:
    files = {
        "var/lib/dpkg/status": STATUS,
        f"{SITE}/typing_extensions-4.16.0.dist-info/METADATA": METADATA,
        f"{SITE}/lupa/lua51.cpython-311-x86_64-linux-gnu.so": "",
        "usr/share/other.dist-info/METADATA": METADATA,
    }
    image = archive(tmp_path / "image.tar", files)
    found = document(image, "moonshift-luaworker", "1")
    assert [one["name"] for one in found["components"]] == ["libc6", "Lua", "typing-extensions"]
    (top,) = found["dependencies"]
    assert top["ref"] == found["metadata"]["component"]["bom-ref"]
    assert top["dependsOn"] == [one["bom-ref"] for one in found["components"]]
    assert document(image, "moonshift-luaworker", "1") == found
    files["usr/bin/new"] = "x"
    other = archive(tmp_path / "other.tar", files)
    assert document(other, "moonshift-luaworker", "1")["components"] == found["components"]
