"""A granted right is checked each time, a refusal is cached for a moment; a Rollout that waits gets a fresh answer."""

from controller.errors import Right
from controller.reconcilers.account_rights import KEPT, AccountRights

PATCH = Right("patch", "a.io", "lanes", "", "shop", "web", "shop/router")


class Server:
    """Grants, questions and a clock."""

    def __init__(self) -> None:
        self.granted = True
        self.asked: list[Right] = []
        self.now = 100.0
        self.rights = AccountRights(self.review, lambda: self.now)

    async def review(self, right: Right) -> bool:
        self.asked.append(right)
        return self.granted


async def test_a_right_that_is_taken_away_is_missed_by_the_next_question() -> None:
    server = Server()
    assert await server.rights.may(PATCH)
    server.granted = False
    assert not await server.rights.may(PATCH)
    assert server.asked == [PATCH, PATCH]


async def test_a_refusal_is_cached_for_a_moment() -> None:
    server = Server()
    server.granted = False
    for _ in range(100):
        assert not await server.rights.may(PATCH)
    assert server.asked == [PATCH]
    server.now += KEPT
    assert not await server.rights.may(PATCH)
    assert server.asked == [PATCH, PATCH]


async def test_a_probe_and_the_next_write_see_a_granted_right() -> None:
    server = Server()
    server.granted = False
    assert not await server.rights.may(PATCH)
    server.granted = True
    assert await server.rights.review(PATCH)
    assert await server.rights.may(PATCH)


async def test_the_controllers_own_rights_are_not_kept() -> None:
    server = Server()
    server.granted = False
    own = PATCH._replace(account="")
    assert not await server.rights.review(own)
    server.granted = True
    assert await server.rights.may(own)
