"""`make demo-cluster`: from nothing to a release of real pods by the installed product, on a real node.

Invariant: every printed figure was measured in this run; the node and everything on it end with the program.
"""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from rich.console import Console

from demo.cluster import shop
from demo.cluster.images import ensure_images
from demo.cluster.install import install
from demo.cluster.release import LOST, Release
from localcluster.errors import ClusterError
from localcluster.node.gateway import NodeGateway
from localcluster.node.plane import NodePlane
from localcluster.node.tools import refusal
from localcluster.progress import ConsoleReporter
from localcluster.traffic.contour import ensure_contour


async def play(console: Console) -> bool:
    """Play it; return whether no request was lost."""
    if reason := refusal():
        raise ClusterError(reason)
    reporter = ConsoleReporter(Console(stderr=True))
    images = await ensure_images(reporter)
    programs = await ensure_contour(reporter)
    with tempfile.TemporaryDirectory(prefix="moonshift-demo-") as folder:
        async with NodePlane.start(Path(folder) / "plane", reporter=reporter) as node:
            console.print(
                "$ kubectl apply --server-side -f deploy/crds && kubectl apply -k deploy/kustomize"
            )
            seconds = await install(node, images)
            console.print(f"controller and worker are ready after {seconds:.0f} s")
            gateway = NodeGateway(node, programs)
            await gateway.start()
            return await _release(Release(node, gateway, Path(folder) / "commands"), console)


async def _release(release: Release, console: Console) -> bool:
    await release.deploy()
    counted = [await _counted(release, console)]
    console.print(f"$ kubectl set image deployment/{shop.NAME} greeter={shop.IMAGE}:{shop.NEW}")
    await release.begin()
    async with asyncio.timeout(30):
        while shop.NEW not in await release.count(10):
            pass
    console.print(await release.look(), markup=False, highlight=False)
    counted.append(await _counted(release, console))
    console.print(f"$ kubectl moonshift approve {shop.NAME}")
    approving = asyncio.create_task(release.approve())
    during = await release.count_until(approving)
    await approving
    console.print(f"  until the end: {_words(during)}")
    counted += [during, await _counted(release, console)]
    return not any(count[LOST] for count in counted)


async def _counted(release: Release, console: Console) -> Counter[str]:
    counted = await release.count()
    console.print(f"  {counted.total()} requests: {_words(counted)}")
    return counted


def _words(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counted.items()))


def main() -> None:
    """Run the demo; ends with 1 if a request was lost."""
    console = Console(soft_wrap=True)
    try:
        whole = asyncio.run(play(console))
    except ClusterError as error:
        raise SystemExit(f"error: {error}") from error
    raise SystemExit(0 if whole else 1)


if __name__ == "__main__":
    main()
