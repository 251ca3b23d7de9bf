"""The metrics page of a new leader equals the page of the killed leader."""

from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from demo.stage import Product
from localcluster.record import Recorder
from tests.cluster.killed import replace_controller
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story, conclude
from tests.cluster.test_install import text_of

APP = Application(
    "shop", "", False, (StepPlan(1, 20), StepPlan(2)), virtual_service=True, replicas=2, grace=0
)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def state_of(product: Product, namespace: str) -> Samples:
    """The samples on the page about the objects of a namespace."""
    _, text = await text_of(product.controller_metrics, "/metrics")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("moonshift_rollout_")
        and sample.labels.get("namespace") == namespace
    }


async def first_state_of(product: Product, namespace: str, *names: str) -> Samples:
    """The first page that says anything of the namespace, or all of these; the time limit of the test ends the wait."""
    while not (found := await state_of(product, namespace)) or not named_in(found).issuperset(
        names
    ):
        pass
    return found


def named_in(samples: Samples) -> set[str]:
    """The names of the samples, without their beginning."""
    return {name.removeprefix("moonshift_rollout_") for name, _ in samples}


def still(samples: Samples) -> Samples:
    """The samples that do not grow with the clock."""
    return {key: value for key, value in samples.items() if not key[0].endswith("_seconds")}


async def test_a_new_leader_exports_at_once_the_state_that_the_killed_one_exported(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(product.plane, recorder, replace(APP, namespace=namespace_of_product))
    await story.begin()
    await story.paused_at(1)
    await story.settled(1)
    # The page follows the status that the recording shows, some milliseconds later.
    before = await first_state_of(
        *(product, namespace_of_product),
        *("info", "phase", "step", "steps", "pods", "paused", "state_seconds"),
        *("weight_desired", "weight_actual"),
    )
    await replace_controller(product)
    after = await first_state_of(product, namespace_of_product)
    assert still(after) == still(before)
    waited = next(key for key in before if key[0] == "moonshift_rollout_state_seconds")
    assert after[waited] >= before[waited]
    await story.approve_all()
    await conclude(story)
    await story.delete()
    await story.gone(ROLLOUTS)
    while await state_of(product, namespace_of_product):
        pass  # ended by the time limit of the test where a series stays
