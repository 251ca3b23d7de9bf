"""The Kubernetes releases that the local cluster can be built from.

Why it exists: the product supports a range of Kubernetes minors, and must be tested on that range. Invariant:
a release is a version and a go.mod of its own beside the newest one's; all are built from the same main.go. It must
not build anything.
"""

import os
from dataclasses import dataclass

from localcluster.errors import BuildError

CHOSEN_VARIABLE = "MOONSHIFT_KUBERNETES"


@dataclass(frozen=True, slots=True)
class KubernetesRelease:
    """One release of Kubernetes and the files that pin its modules."""

    version: str
    module_file: str

    @property
    def minor(self) -> str:
        """The minor version as people say it: 1.35."""
        return ".".join(self.version.removeprefix("v").split(".")[:2])

    @property
    def sum_file(self) -> str:
        """The file with the hashes of the modules."""
        return f"{self.module_file.removesuffix('.mod')}.sum"


NEWEST = KubernetesRelease("v1.35.4", "go.mod")
OLDEST = KubernetesRelease("v1.32.5", "kubernetes-1.32.mod")
RELEASES = {release.minor: release for release in (NEWEST, OLDEST)}


def chosen_release() -> KubernetesRelease:
    """Return the release that MOONSHIFT_KUBERNETES names by its minor; the newest one if it is not set.

    Raises:
        BuildError: there is no such release here.
    """
    minor = os.environ.get(CHOSEN_VARIABLE) or NEWEST.minor
    if minor not in RELEASES:
        raise BuildError(
            f"{CHOSEN_VARIABLE}={minor}: the local cluster can be built from "
            f"{' or '.join(sorted(RELEASES))}"
        )
    return RELEASES[minor]
