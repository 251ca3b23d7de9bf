"""The errors of the local cluster, as one tree.

    ClusterError
        BuildError          the binaries could not be made
        ComponentExited     a component ended by itself; carries the tail of its log
        NotReady            something did not become ready within its time
        CommandFailed       kubectl failed; carries its output
        RequestRefused      the API answered with an error status
        RecordingLost       a recorder can no longer be lossless

Callers catch ClusterError where they only report. Nothing here may import another module of the package.
"""


class ClusterError(Exception):
    """Something of the local cluster failed."""


class BuildError(ClusterError):
    """The binaries could not be made."""


class ComponentExited(ClusterError):
    """A component ended by itself."""


class NotReady(ClusterError):
    """Something did not become ready in time."""


class CommandFailed(ClusterError):
    """A kubectl command ended with an error."""


class RequestRefused(ClusterError):
    """The API server answered a request with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class RecordingLost(ClusterError):
    """A recorder missed events and cannot catch up."""
