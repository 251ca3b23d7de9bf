"""Packaged queries, played by the real promtool over series with the labels that each source documents."""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.analysis import Golden, Metric
from controller.domain.gates.golden import expanded
from controller.domain.gates.origins import name_of_release
from controller.domain.gates.wording import filled
from controller.outbound.golden import packaged
from localcluster.extras import ensure_extra
from localcluster.progress import SilentReporter
from localcluster.prometheus import PROMTOOL

ROOT = Path(__file__).parents[2]
GOLDEN = packaged()
GOOD, BAD = "0+75x20", "0+25x20"
UNTOLD = "0+1000x20"
"""Series of others, which a query must leave out."""


def requests(source: str, service: str) -> dict[str, str]:
    """Counters of a Service of which three of four requests were answered well."""
    match source:
        case "istio":
            one = f'destination_service_namespace="shop",destination_service_name="{service}"'
            name = "istio_requests_total"
            return {
                f'{name}{{reporter="destination",{one},response_code="200"}}': GOOD,
                f'{name}{{reporter="destination",{one},response_code="503"}}': BAD,
                f'{name}{{reporter="source",{one},response_code="503"}}': UNTOLD,
            }
        case "contour":
            one = f'envoy_cluster_name="shop_{service}_80"'
            name = "envoy_cluster_upstream_rq"
            return {
                f'{name}{{{one},envoy_response_code="200"}}': GOOD,
                f'{name}{{{one},envoy_response_code="503"}}': BAD,
            }
        case "ingress-nginx":
            one = f'namespace="shop",ingress="web",service="{service}"'
            name = "nginx_ingress_controller_requests"
            return {
                f'{name}{{{one},status="200"}}': GOOD,
                f'{name}{{{one},status="502"}}': BAD,
            }
        case "traefik":
            one = f'service="shop-{service}-80@kubernetescrd"'
            name = "traefik_service_requests_total"
            return {f'{name}{{{one},code="200"}}': GOOD, f'{name}{{{one},code="500"}}': BAD}
        case _:
            one = f'dst_namespace="shop",dst_service="{service}"'
            name = "response_total"
            return {
                f'{name}{{direction="outbound",{one},classification="success"}}': GOOD,
                f'{name}{{direction="outbound",{one},classification="failure"}}': BAD,
                f'{name}{{direction="inbound",{one},classification="failure"}}': UNTOLD,
            }


HISTOGRAMS = {
    "istio": "istio_request_duration_milliseconds",
    "contour": "envoy_cluster_upstream_rq_time",
    "ingress-nginx": "nginx_ingress_controller_request_duration_seconds",
    "traefik": "traefik_service_request_duration_seconds",
    "linkerd": "response_latency_ms",
}


def durations(source: str, service: str) -> dict[str, str]:
    """A histogram of a Service whose 99th percentile is 0.25."""
    name = HISTOGRAMS[source]
    series = next(iter(requests(source, service)))
    labels = series.partition("{")[2].rstrip("}")
    return {
        f'{name}_bucket{{{labels},le="0.1"}}': "0+90x20",
        f'{name}_bucket{{{labels},le="0.25"}}': "0+99x20",
        f'{name}_bucket{{{labels},le="+Inf"}}': "0+100x20",
        f"{name}_count{{{labels}}}": "0+100x20",
    }


def query_of(source: str, name: str, *, samples: bool) -> str:
    """The query about the new revision, as it is sent."""
    asked = Metric(name="m", golden=Golden(name, source), min_samples=1)
    metric = expanded(asked, GOLDEN)
    assert isinstance(metric, Metric)
    words = {"namespace": "shop", "service": "web-canary"}
    found = filled(metric, {name: name_of_release(text) for name, text in words.items()})
    assert isinstance(found, Metric)
    assert found.prometheus is not None
    return found.prometheus.samples if samples else found.prometheus.query


def played(source: str, name: str) -> dict[str, Any]:
    """The file that promtool plays: the answers of the two queries after ten minutes."""
    make = requests if name == "success-rate" else durations
    series = {**make(source, "web"), **make(source, "web-canary")}
    series |= {key.replace("shop", "other"): UNTOLD for key in make(source, "web-canary")}
    answer = 0.75 if name == "success-rate" else 0.25
    expected = [(query_of(source, name, samples=False), answer)]
    expected.append((query_of(source, name, samples=True), 500))
    return {
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": key, "values": value} for key, value in series.items()],
                "promql_expr_test": [
                    {
                        "expr": query,
                        "eval_time": "10m",
                        "exp_samples": [{"labels": "{}", "value": value}],
                    }
                    for query, value in expected
                ],
            }
        ],
    }


@pytest.mark.parametrize(("source", "name"), sorted(GOLDEN))
async def test_a_packaged_query_counts_the_requests_of_its_service(
    source: str, name: str, tmp_path: Path
) -> None:
    built = await ensure_extra(PROMTOOL, SilentReporter())
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(played(source, name)))
    process = await asyncio.create_subprocess_exec(
        str(built.binary),
        "test",
        "rules",
        "test.yaml",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


def test_every_source_has_both_queries() -> None:
    sources = {source for source, _ in GOLDEN}
    assert sources == set(HISTOGRAMS)
    assert set(GOLDEN) == {(s, n) for s in sources for n in ("success-rate", "latency-p99")}


def test_the_queries_are_part_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    data = project["tool"]["setuptools"]["package-data"]
    assert data["controller.outbound"] == ["golden/*.toml"]
