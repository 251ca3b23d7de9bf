"""Installs the product on a real node, by the commands that are printed in the documents.

Why it exists: users install first. Invariant: the objects are those of `deploy/`, unchanged; the images
are this checkout's. It must wait only for things that a user would wait for.
"""

import time

from demo.cluster.images import Images
from demo.stage import CONTROLLER, CRDS, NAMESPACE, ROOT, WORKER
from localcluster.node.plane import NodePlane

KUSTOMIZATION = ROOT / "deploy" / "kustomize"
WAIT = "--timeout=140s"


async def install(node: NodePlane, images: Images) -> float:
    """Apply CRDs and manifests; return the seconds until both Deployments were ready."""
    await node.load_images(*images.archives)
    begun = time.monotonic()
    await node.kubectl("apply", "--server-side", "-f", str(CRDS))
    await node.kubectl("apply", "-k", str(KUSTOMIZATION))
    for name in (CONTROLLER, WORKER):
        await node.kubectl("rollout", "status", WAIT, "-n", NAMESPACE, f"deployment/{name}")
    return time.monotonic() - begun
