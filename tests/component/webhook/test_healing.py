"""A budget of corrections: as many at once as it holds, then one from time to time."""

import asyncio
from datetime import timedelta

from controller.webhook.healing import Budget
from tests.component.runtime.virtual_time import virtual_time

NOW = timedelta(0)


def taken_at_once(budget: Budget) -> int:
    """Corrections until the budget is empty."""
    taken = 0
    while budget.next_in() == NOW:
        budget.take()
        taken += 1
    return taken


@virtual_time
async def test_a_burst_is_followed_by_one_correction_from_time_to_time() -> None:
    budget = Budget(12, timedelta(minutes=1))
    assert taken_at_once(budget) == 12
    assert timedelta(seconds=4) < budget.next_in() <= timedelta(seconds=5)
    await asyncio.sleep(6)
    assert taken_at_once(budget) == 1
    await asyncio.sleep(11)
    assert taken_at_once(budget) == 2


@virtual_time
async def test_an_unused_budget_holds_no_more_than_it_does_at_first() -> None:
    budget = Budget(3, timedelta(minutes=5))
    await asyncio.sleep(3600)
    assert taken_at_once(budget) == 3
    await asyncio.sleep(301)
    assert taken_at_once(budget) == 3


@virtual_time
async def test_a_budget_of_none_is_never_free() -> None:
    budget = Budget(0, timedelta(minutes=5))
    assert budget.next_in() == timedelta(minutes=5)
