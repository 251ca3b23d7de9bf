"""A real Contour that refuses an HTTPProxy stops the release before an old pod of the step goes."""

import sys

import msgspec

from controller.domain import reasons
from tests.traffic.program import finished
from tests.traffic.refused import Seen


async def test_contour_refuses_a_step_and_no_old_pod_goes_until_it_takes_it(
    network_available: None,
) -> None:
    program = await finished(sys.executable, "-m", "tests.traffic.refused")
    assert program.output, program.errors.decode()[-3000:]
    seen = msgspec.json.decode(program.output, type=Seen)
    assert seen.reason == reasons.ROUTE_REFUSED_BY_GATEWAY
    assert "Contour" in seen.message
    assert seen.old_refused == seen.old_before
    assert seen.went_on
