"""The controller is killed, and the next one need not wait until the Lease of the killed one has expired.

Why it exists: the wait is fifteen seconds, and `in_turn/test_fence.py` and `in_turn/test_shards.py` test it; tests of
other behaviour would lose these seconds at each kill. Invariant: the Lease is released only after the process ended.
"""

from controller.api.names import LEASE
from demo.stage import Product
from tests.cluster.replicas import LEASES

LEASE_PATH = f"{LEASES}/{LEASE}"


async def kill_controller(product: Product) -> None:
    """End the process at once, and release its Lease as an operator could."""
    await product.controller.kill()
    await product.plane.client().patch(LEASE_PATH, {"spec": {"holderIdentity": ""}})


async def replace_controller(product: Product) -> None:
    """The same; then start another process, and return when it is ready."""
    await kill_controller(product)
    await product.controller.start()
