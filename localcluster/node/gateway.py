"""A real gateway on a real node: Contour and Envoy in the node's network, a port outside that leads to Envoy.

Why it exists: requests that real pods answer should come through a real proxy. Invariant: programs and settings are
those of `localcluster.traffic.contour`; only their network differs. It must not know who sends requests.
"""

from localcluster.node.lines import door, entering
from localcluster.node.plane import NodePlane
from localcluster.ports import free_ports
from localcluster.traffic.contour import ContourGateway, ContourPrograms
from localcluster.traffic.gateway import PORT, READY_SECONDS


class NodeGateway(ContourGateway):
    """Contour and Envoy on a node; `url` is where requests are taken, outside the node's network."""

    def __init__(self, node: NodePlane, programs: ContourPrograms) -> None:
        super().__init__(node, programs)
        self._node = node
        (self._port,) = free_ports(1)

    @property
    def url(self) -> str:
        """Where requests are taken."""
        return f"http://127.0.0.1:{self._port}"

    def at_home(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line that runs a program in the node's box."""
        return entering(self._node.node_layout, line)

    async def start_pods(self) -> None:
        """Open the door to Envoy; real pods answer by themselves."""
        line = door(self._node.node_layout, f"{self._port}=127.0.0.1:{PORT}")
        await self._node.add("gateway-door", line, _at_once, READY_SECONDS)

    async def contour_ready(self) -> bool:
        """Contour listens in the node's network; Envoy is ready when it has heard from it."""
        return True


async def _at_once() -> bool:
    return True
