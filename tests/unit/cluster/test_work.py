"""The checker of work under faults flags a release with too many requests, and names the requests."""

from tests.cluster.work import unbounded_work

USUAL = {"GET pods": 10, "PATCH deployments": 40, "WATCH pods": 2}


def test_three_more_requests_for_each_fault_pass() -> None:
    asked = {**USUAL, "PATCH deployments": 55}
    assert unbounded_work(USUAL, asked, faults=5, each=3) is None


def test_a_storm_of_lists_is_flagged_and_named() -> None:
    asked = {**USUAL, "GET pods": 500}
    message = unbounded_work(USUAL, asked, faults=5, each=3)
    assert message == "542 requests under 5 faults, 77 at most: GET pods 490 more"


def test_without_a_fault_the_usual_work_is_the_limit() -> None:
    assert unbounded_work(USUAL, USUAL, faults=0, each=3) is None
    assert unbounded_work(USUAL, {**USUAL, "PATCH services": 20}, faults=0, each=3) is not None
