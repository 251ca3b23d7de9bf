"""A release on a real control plane, as a collector of traces sees it."""

from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.plane import Plane
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.secrecy import kept_product
from tests.cluster.story import Story, conclude

APP = Application(
    "shop", "", False, (StepPlan(1, 20, 0), StepPlan(2)), virtual_service=True, replicas=2, grace=0
)


async def test_a_release_is_traced_in_passes_with_their_scripts_and_requests(
    ground: Plane, tmp_path: Path
) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra tracing is not installed")
    from tests.component.telemetry.collector import collecting

    async with collecting() as collector:
        extra = (f"--otlp-endpoint={collector.address}",)
        async with (
            kept_product(ground, tmp_path / "product", extra=extra),
            ground.recorder(*RECORDED) as recorder,
            fresh_namespace(ground) as namespace,
        ):
            story = Story(ground, recorder, replace(APP, namespace=namespace))
            await story.begin()
            await conclude(story)
        # The controller has ended by now, and has sent what was left.
        passes = collector.named("rollout pass")
        ours = [span for span in passes if span.attributes["k8s.namespace.name"] == namespace]
        below = [span for one in ours for span in collector.children(one)]
    assert ours
    assert {span.parent for span in ours} == {""}
    assert {"script", "kubernetes PATCH"} <= {span.name for span in below}
    # Requests about namespaces that earlier tests deleted may be answered with 404.
    answers = {span.attributes.get("http.response.status_code") for span in below}
    assert answers <= {"200", "201", "409", None}
    assert "200" in answers
    requests = [span for span in collector.spans if span.name.startswith("kubernetes")]
    assert not [span for span in requests if not span.parent], "a request outside of any pass"
