"""Packaged queries by name: `success-rate` of `istio` instead of a page of PromQL.

Invariant: a golden metric becomes an ordinary Prometheus query before its words are filled in, so that everything else
knows one kind of query only. The queries are data (`controller/outbound/golden`), given with the observation.
"""

from collections.abc import Mapping

from msgspec import structs

from controller.api.analysis import Metric, PrometheusQuery
from controller.domain.decision import Value


class GoldenQuery(Value, frozen=True):
    """PromQL with words: the value, and the number of requests that it is based on."""

    query: str
    samples: str


GoldenQueries = Mapping[tuple[str, str], GoldenQuery]
"""By source and name."""


def expanded(metric: Metric, queries: GoldenQueries) -> Metric | str:
    """The metric with its golden query written out; an error text with the known names if the name is unknown."""
    asked = metric.golden
    if asked is None:
        return metric
    found = queries.get((asked.source, asked.name))
    if found is None:
        known = ", ".join(f"{name} of {source}" for source, name in sorted(queries))
        return f"metric {metric.name}: there is no golden {asked.name} of {asked.source}; there are {known}"
    query = PrometheusQuery(
        address=asked.address,
        query=found.query,
        samples=found.samples if metric.min_samples else "",
        headers=asked.headers,
        auth=asked.auth,
    )
    return structs.replace(metric, golden=None, prometheus=query)
