"""Breaks something on purpose, to show that the demo notices it.

Why it exists: a check that cannot fail proves nothing. Only the hidden option `--sabotage` comes here.
"""

from demo.snapshot import APPLIED
from localcluster.api import ApiClient


async def break_the_restore(client: ApiClient) -> None:
    """Leave a part of the release in the VirtualService, like an incomplete restore."""
    annotations = {"rollouts.kruise.io/original-spec-configuration": "{}"}
    await client.patch(
        APPLIED["VirtualService nginx-vs"], {"metadata": {"annotations": annotations}}
    )
