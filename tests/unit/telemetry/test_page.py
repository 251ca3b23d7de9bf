"""A page is made in small pieces, and equals the page that the library makes at once."""

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from controller.telemetry.page import PART, pieces

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def registry(series: int) -> CollectorRegistry:
    """A gauge with this number of series beside metrics of every other type."""
    made = CollectorRegistry()
    gauge = Gauge("shop_queue", "Things\nthat wait", ("name",), registry=made)
    for number in range(series):
        gauge.labels(f'queue "{number}"').set(number)
    Gauge("shop_empty", "No series", ("name",), registry=made)
    Counter("shop_sold", "Things sold", ("kind",), registry=made).labels("tea").inc()
    Histogram("shop_wait_seconds", "Waits", registry=made).observe(0.2)
    return made


@pytest.mark.parametrize("accept", ["", "text/plain; version=1.0.0", OPEN_METRICS])
@pytest.mark.parametrize("series", [0, 1, 6, 7, 20])
def test_the_page_is_the_librarys_own(accept: str, series: int) -> None:
    made = registry(series)
    encode, _ = choose_encoder(accept)
    assert b"".join(pieces(made.collect(), encode, part=3)) == encode(made)


def test_no_piece_grows_with_the_number_of_series() -> None:
    encoded: list[int] = []

    def encode(some: Collector) -> bytes:
        encoded.append(len([*_samples(some)]))
        return choose_encoder("")[0](some)

    list(pieces(registry(10 * PART).collect(), encode))
    assert max(encoded) == PART
    assert sum(encoded) > 10 * PART


def _samples(some: Collector) -> Iterator[object]:
    for family in some.collect():
        yield from family.samples
