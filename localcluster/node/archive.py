"""Writes a container image that holds one static program.

Why it exists: the pause container and the pods of tests are single programs, and need neither a base nor a builder.
Invariant: the same program gives the same archive, byte for byte; the format is `docker save`'s, which containerd
reads. It must not need root.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path

NOBODY = "65534:65534"


def write_image(
    archive: Path, name: str, program: Path, environment: Mapping[str, str] | None = None
) -> Path:
    """Write the image `name` of `program` into the file `archive`."""
    layer = _tar({program.name: (program.read_bytes(), 0o755)})
    configuration = {
        "architecture": {"aarch64": "arm64"}.get(platform.machine(), "amd64"),
        "os": "linux",
        "config": {
            "Entrypoint": [f"/{program.name}"],
            "User": NOBODY,
            "Env": [f"{key}={value}" for key, value in (environment or {}).items()],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    text = json.dumps(configuration).encode()
    config_name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_bytes(
        _tar(
            {
                "layer.tar": (layer, 0o644),
                config_name: (text, 0o644),
                "manifest.json": (json.dumps(manifest).encode(), 0o644),
            }
        )
    )
    return archive


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (content, mode) in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
