"""Class skipper: Services that share paths, with weights of the owner's for all, some or none of them.

Each Service that is not the release's keeps what it has of every request. Where one annotation cannot express that, or
nothing goes to the stable Service, the step is refused; without any weight it always can.
"""

import json
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.component.luaworker.process import Worker
from tests.examples import sampled
from tests.routing import skipper
from tests.routing.model import HOST, Request
from tests.routing.tables import ADMIN, CANARY, LEGACY, STABLE
from tests.routing.test_ingress import Path, asked, ingress
from tests.routing.test_routing import EXAMPLES

PATHS = ("/", "/api", "/admin")
NEARLY = Fraction(1, 10**9)
ENTRIES = st.lists(
    st.builds(
        Path,
        st.just(HOST),
        st.sampled_from(PATHS),
        st.just(False),
        st.sampled_from((STABLE, ADMIN, LEGACY)),
    ),
    min_size=1,
    max_size=6,
    unique=True,
)
WEIGHTS = st.dictionaries(
    st.sampled_from((STABLE, ADMIN, LEGACY)), st.sampled_from((0, 1, 3, 0.5)), max_size=3
)
MORE = settings(EXAMPLES, max_examples=sampled(20, 60))


@MORE
@given(table=ENTRIES, weights=WEIGHTS | st.none(), weight=st.integers(0, 100))
async def test_services_that_share_a_path_keep_what_they_have(
    script_worker: Worker, table: list[Path], weights: dict[str, float] | None, weight: int
) -> None:
    assume(any(entry.service == STABLE for entry in table))
    annotations = {} if weights is None else {skipper.WEIGHTS: json.dumps(weights)}
    original = ingress(table, annotations)
    requests = [Request(path) for path in PATHS]
    before = [skipper.ingresses([original], request) for request in requests]
    made = await asked(script_worker, "skipper", original, weight)
    if isinstance(made, str):
        assert weights, made
        assert ("hold for all its paths" in made) != ("above 0" in made)
        assert "above 0" not in made or all(not shares.get(STABLE) for shares in before)
        return
    for request, was in zip(requests, before, strict=True):
        now = skipper.ingresses(made, request)
        own = was.pop(STABLE, Fraction(0))
        expected = {**was, STABLE: own * (100 - weight) / 100, CANARY: own * weight / 100}
        for service, share in expected.items():
            assert abs(now.get(service, Fraction(0)) - share) < NEARLY, (request, was, now)
