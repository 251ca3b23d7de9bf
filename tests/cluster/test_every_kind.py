"""Every packaged gateway kind and Ingress class through a whole release, by the real controller and the real worker.

The releases are those of the scripts' own test data: a new folder is enough. At each step the live object must have
the fields that the case expects. At the end it must be equal to the original, byte for byte, without companion
objects. The CRDs accept any spec, because other tests check the real schemas; the rights are the shipped ones. Every
fifth kind and all Ingress classes are part of every run, all kinds of `make test-full`.
"""

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from controller.api import names
from demo.stage import GATEWAY_KINDS, ROOT, Product
from localcluster.api import JsonObject
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster.invariants import judge_end
from tests.cluster.invented import install
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.packaged import Sample, definitions, samples
from tests.cluster.secrecy import MORE_IS_LOGGED, kept_product
from tests.cluster.story import Story, assert_kept
from tests.cluster.table import started
from tests.cluster.together import Together

RIGHTS = ROOT / "deploy" / "kustomize" / "gateways"
EVERY = 5
SERVERS = ("resourceVersion", "generation", "managedFields")
"""Parts of the metadata that count writes."""
OURS = ("rollouts.kruise.io/", "moonshift.dev/")


@dataclass(frozen=True, slots=True)
class Release:
    """A sample as a row of the table."""

    sample: Sample

    async def tell(self, product: Product, recorder: Recorder) -> None:
        """Live it through in a namespace of its own."""
        namespace = f"every-{uuid.uuid4().hex[:8]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        sample = self.sample.within(namespace)
        story = Story(product.plane, recorder, sample.application(namespace))
        await Journey(story, sample).through()


class Journey:
    """One release and the object it leads through."""

    def __init__(self, story: Story, sample: Sample) -> None:
        self._story = story
        self._sample = sample
        kind, namespace = sample.kind, story.app.namespace
        place = "" if sample.cluster_scoped else f"namespaces/{namespace}/"
        self._all = f"/apis/{kind.group}/{kind.version}/{place}{kind.plural}"

    async def through(self) -> None:
        """Release, look at every step, approve, and find everything as it was."""
        story, client = self._story, self._story.plane.client()
        await story.install()
        await client.create(self._all, self._sample.original)
        before = await self._objects()
        await story.govern(self._sample.rollout(story.app))
        await story.release(NEW_IMAGE)
        for number, expected in enumerate(self._sample.expected(), start=1):
            await story.paused_at(number)
            await self._says(expected, number)
            await story.approve(number)
        await story.completed()
        await story.recorder.caught_up()
        assert _bytes(await self._objects()) == _bytes(before)
        assert_kept(judge_end(story.app, story.recorder.state(), story.expected), story)

    async def _objects(self) -> dict[str, JsonObject]:
        """All objects of the kind in the namespace, by name."""
        found = await self._story.plane.client().get(self._all)
        return {item["metadata"]["name"]: item for item in found["items"]}

    async def _says(self, expected: JsonObject, number: int) -> None:
        """The object, and the objects beside it, are those that the case expects of this step."""
        live = await self._objects()
        own = self._sample.original["metadata"]["name"]
        beside = {item["metadata"]["name"]: item for item in expected.get("objects") or ()}
        wanted = {name: _said(item) for name, item in {own: expected, **beside}.items()}
        assert {name: _said(item) for name, item in live.items()} == wanted, f"at step {number}"
        for name in beside:
            assert live[name]["metadata"]["labels"].get(names.ROLLOUT_UID)


def _said(item: JsonObject) -> JsonObject:
    """Spec, labels and annotations of an object, without Moonshift's own labels and annotations."""
    metadata = item.get("metadata", {})
    return {
        "spec": item["spec"],
        **{
            part: {k: v for k, v in (metadata.get(part) or {}).items() if not k.startswith(OURS)}
            for part in ("labels", "annotations")
        },
    }


def _bytes(objects: dict[str, JsonObject]) -> dict[str, str]:
    """Objects as they are sent, but for the server's counting of writes."""
    return {
        name: json.dumps(
            {
                **item,
                "metadata": {k: v for k, v in item["metadata"].items() if k not in SERVERS},
            }
        )
        for name, item in objects.items()
    }


SAMPLES = samples()
TABLE = {title: Release(sample) for title, sample in SAMPLES.items()}
KINDS = [title for title in TABLE if not title.startswith("trafficrouting_ingress/")]
SAMPLED = {*KINDS[::EVERY], *(title for title in TABLE if title not in KINDS)}


@pytest.fixture(scope="module")
async def stage(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift with the permission for cluster-scoped kinds, on a plane that has every kind."""
    async with Plane.start(tmp_path_factory.mktemp("every-plane")) as started_plane:
        await started_plane.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        listed = await started_plane.kubectl("get", "crd", "-o", "name")
        there = {line.rpartition("/")[2] for line in listed.split()}
        missing = (d for d in definitions(SAMPLES) if d["metadata"]["name"] not in there)
        await install(started_plane, *missing)
        flags = ("--allow-cluster-scoped-gateways=true", MORE_IS_LOGGED)
        folder = tmp_path_factory.mktemp("every")
        async with kept_product(started_plane, folder, extra=flags) as running:
            await started_plane.kubectl("apply", "-k", str(RIGHTS))
            yield running


@pytest.fixture(scope="module")
async def recording(stage: Product) -> AsyncIterator[Recorder]:
    """Give a recording of the objects that releases touch, without gateway objects."""
    every = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
    await stage.plane.kubectl("get", every, "--all-namespaces")
    async with stage.plane.recorder(*RECORDED) as begun:
        yield begun


@pytest.fixture(scope="module")
async def table(request: pytest.FixtureRequest, stage: Product, recording: Recorder) -> Together:
    """Give the selected releases, running."""
    return started(request, TABLE, stage, recording)


@pytest.mark.parametrize(
    "title",
    [pytest.param(t, marks=[] if t in SAMPLED else pytest.mark.full) for t in TABLE],
)
async def test_a_release_has_the_expected_content_at_each_step_and_leaves_nothing(
    title: str, table: Together
) -> None:
    await table.result(title)


def test_every_script_is_released() -> None:
    assert len(TABLE) > len(KINDS) > 0
    assert any(sample.cluster_scoped for sample in SAMPLES.values())
