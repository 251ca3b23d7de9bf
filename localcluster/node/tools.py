"""Which programs and rights of this machine a node needs.

Why it exists: containers need root and a few packages of the system; the error about a missing package names the
command that installs it. Invariant: nothing is installed here. It must not look at anything but the file system, this
process's rights and the release of Kubernetes that was chosen.
"""

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from localcluster.node.settings import CNI_PROGRAMS
from localcluster.releases import CHOSEN_VARIABLE, NEWEST, chosen_release

PACKAGES: Mapping[str, str] = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "nft": "nftables",
    "ip": "iproute2",
    "mount": "mount",
}
"""Program → Debian package that has it."""
IMAGE_PACKAGES: Mapping[str, str] = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
"""Program → Debian package, for the programs that build the product's images."""
NETWORK_PACKAGE = "containernetworking-plugins"
INSTALL = "make node-tools"
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def refusal() -> str:
    """Return why no node can run here, and the remedy; empty if a node can run."""
    if platform.system() != "Linux":
        return "a node needs Linux"
    if (chosen := chosen_release()) != NEWEST:
        return (
            f"a node's kubelet is of Kubernetes {NEWEST.minor} and must not be newer than the API server "
            f"of {chosen.minor} that {CHOSEN_VARIABLE} asks for"
        )
    if os.geteuid() != 0:
        return "a node needs root: containers, mounts and control groups (try sudo)"
    if missing := missing_packages():
        return f"a node needs {', '.join(missing)}: `{INSTALL}` installs them (Debian, Ubuntu)"
    return ""


def missing_packages(programs: Mapping[str, str] = PACKAGES) -> list[str]:
    """Return the packages whose programs are not here."""
    missing = {package for name, package in programs.items() if program(name) is None}
    if not (CNI_PROGRAMS / "ptp").is_file():
        missing.add(NETWORK_PACKAGE)
    return sorted(missing)


def program(name: str) -> Path | None:
    """Return where a program of the system is; administrators' folders are not on everybody's PATH."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{PATHS}")
    return None if found is None else Path(found)


if __name__ == "__main__":
    print(" ".join(missing_packages({**PACKAGES, **IMAGE_PACKAGES})))
