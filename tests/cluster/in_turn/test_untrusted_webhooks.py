"""`moonshift install --check` names webhooks that the API server does not trust.

No controller runs meanwhile: it would write the authority again at once.
"""

from demo.stage import NAMESPACE, Product
from tests.cluster.in_turn.conftest import CONFIGURATIONS, DEFINITION
from tests.cluster.test_install_check import findings

EMPTIED = {"caBundle": None}


async def test_an_empty_ca_bundle_is_a_problem_until_a_controller_starts(alone: Product) -> None:
    client = alone.plane.client()
    await alone.controller.terminate()
    for path in CONFIGURATIONS:
        found = await client.get(path)
        entries = [
            {**entry, "clientConfig": {**entry["clientConfig"], **EMPTIED}}
            for entry in found["webhooks"]
        ]
        await client.patch(path, {"webhooks": entries})
    webhook = {"conversion": {"webhook": {"clientConfig": EMPTIED}}}
    await client.patch(DEFINITION, {"spec": webhook})
    named = [one for one in await findings(alone, NAMESPACE) if "has no caBundle" in one]
    assert len(named) == 3
    assert all(one.startswith("problem: ") for one in named)
    await alone.controller.start()
    assert not [one for one in await findings(alone, NAMESPACE) if "has no caBundle" in one]
