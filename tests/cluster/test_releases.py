"""Releases of Deployments on a real control plane, each checked against every invariant at every revision.

The scenarios of a run go on at the same time; the first test waits for all of them.
"""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from controller.api.names import FREEZE_MIN_READY_SECONDS
from demo.stage import Product
from localcluster.errors import CommandFailed
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.kinds import (
    DEPLOYMENTS,
    PODS,
    ROLLOUTS,
    ROLLOUTS_V1ALPHA1,
    collection,
    path_of,
)
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.cluster.status_fields import at, condition, instant, step_of
from tests.cluster.story import WORKLOAD_TYPE, Story, assert_kept, conclude
from tests.cluster.together import Together

AT_ONCE = 8
"""Scenarios on one plane at a time: more gain nothing on two processors."""

TRAFFIC = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4, 100))
TRAFFIC_THEN_ALL = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4))
PODS_ONLY = (StepPlan(1), StepPlan(2), StepPlan(4))

BAD_IMAGE = "shop:bad"
"""Its pods are created, and never become ready."""

Scenario = Callable[[Story], Awaitable[None]]

TEST = "test_a_release_keeps_every_invariant_when_disturbed_by"

STYLES: dict[str, Application] = {
    "canary style, no traffic": Application("shop", "", True, PODS_ONLY),
    "canary style, a canary Service": Application("shop", "", True, TRAFFIC, virtual_service=True),
    "canary style, one shared Service": Application(
        "shop", "", True, TRAFFIC, virtual_service=True, shared=True
    ),
    "partition style, no traffic": Application("shop", "", False, PODS_ONLY),
    "partition style, a canary Service": Application(
        "shop", "", False, TRAFFIC_THEN_ALL, virtual_service=True
    ),
}


async def goes_through_all_steps(story: Story) -> None:
    await story.begin()
    await story.approve_all()
    await conclude(story)


async def is_rolled_back_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.release(STABLE_IMAGE)
    await conclude(story)


async def starts_over_with_a_third_revision_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.release(THIRD_IMAGE)
    await story.approve_all()
    await conclude(story)


async def is_disabled_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.disable()
    await story.rollout(lambda status: status.get("phase") == "Disabled")
    await story.pods_ready()
    assert_kept(await story.violations(), story)


async def loses_its_rollout_at_step_2(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    await story.delete()
    await story.gone(ROLLOUTS)
    await story.pods_ready()
    assert_kept(await story.violations(), story)


EVERYWHERE: tuple[Scenario, ...] = (
    goes_through_all_steps,
    is_rolled_back_at_step_2,
    starts_over_with_a_third_revision_at_step_2,
    is_disabled_at_step_2,
    loses_its_rollout_at_step_2,
)


# --- what people do in between --------------------------------------------------------------------


async def waits_for_the_duration_of_its_pause(story: Story) -> None:
    await story.begin()
    waiting = await story.paused_at(1)
    going_on = await story.rollout(lambda status: step_of(status) == 2)
    since = instant(waiting.object["status"]["moonshift"]["stateSince"])
    until = instant(going_on.object["status"]["canaryStatus"]["lastUpdateTime"])
    assert (until - since).total_seconds() >= 2
    await story.paused_at(2)
    await story.approve(2)
    await conclude(story)


async def does_nothing_while_its_strategy_is_paused(story: Story) -> None:
    await story.begin()
    await story.paused_at(1)
    await story.amend({"spec": {"strategy": {"paused": True}}})
    await story.rollout(lambda s: condition(s, "Progressing").get("reason") == "Paused")
    await story.approve()
    # The approval is answered only after the pause: one write of ours in between shows that a pass went by.
    await story.amend({"metadata": {"annotations": {"owner.example/touched": "1"}}})
    await story.rollout(lambda s: at(s, 1, "StepReady"))
    await story.amend({"spec": {"strategy": {"paused": False}}})
    await story.paused_at(2)
    await story.approve(2)
    await conclude(story)


async def has_a_rollout_that_was_there_before_its_workload(story: Story) -> None:
    await story.create(manifests.rollout(story.app))
    missing = await story.rollout(lambda s: s.get("phase") == "Initial")
    assert "Workload Not Found" in missing.object["status"]["message"]
    await story.install()
    await story.labelled()
    await story.release(NEW_IMAGE)
    await story.approve_all()
    await conclude(story)


async def is_written_and_approved_in_v1alpha1(story: Story) -> None:
    await story.install()
    await story.client.create(
        collection(ROLLOUTS_V1ALPHA1, story.app.namespace), manifests.rollout_v1alpha1(story.app)
    )
    await story.labelled()
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    await story.approve(1, ROLLOUTS_V1ALPHA1)
    await story.paused_at(2)
    await story.approve(2, ROLLOUTS_V1ALPHA1)
    await conclude(story)
    pods = [
        pod["metadata"]["labels"]
        for key, pod in story.recorder.state().items()
        if key.kind == PODS and key.namespace == story.app.namespace
    ]
    assert {labels["rollouts.kruise.io/rollout-id"] for labels in pods} == {"seventh"}
    for name in ("rollouts.kruise.io/rollout-batch-id", "apps.kruise.io/rollout-batch-id"):
        assert sorted(labels[name] for labels in pods) == ["1", "2", "3", "3"]


async def has_its_manifests_applied_again(story: Story, *, server_side: bool) -> None:
    workload = manifests.deployment(story.app)
    for body in (workload, *manifests.objects(story.app)[1:]):
        await story.apply(body, server_side=server_side)
    await story.pods_ready()
    await story.govern()
    await story.release(NEW_IMAGE)
    await story.reach(2)
    wanted = {"progressDeadlineSeconds": 700, "revisionHistoryLimit": 5}
    await story.apply(manifests.deployment(story.app, NEW_IMAGE, **wanted), server_side=server_side)
    for body in manifests.objects(story.app)[1:]:
        await story.apply(body, server_side=server_side)
    held = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    assert held["spec"]["minReadySeconds"] == FREEZE_MIN_READY_SECONDS
    assert held["spec"]["revisionHistoryLimit"] == 5
    story.expected[story.key(DEPLOYMENTS)]["spec"].update(wanted)
    await story.approve(2)
    await conclude(story)


async def has_its_manifests_applied_again_by_the_client(story: Story) -> None:
    await has_its_manifests_applied_again(story, server_side=False)


async def has_its_manifests_applied_again_by_the_server(story: Story) -> None:
    await has_its_manifests_applied_again(story, server_side=True)


async def jumps_forward_over_a_step(story: Story) -> None:
    await story.begin()
    await story.paused_at(1)
    await story.jump(3)
    await story.approve_all(first=3)
    ended = await story.completed()
    assert [visit["step"] for visit in ended.object["status"]["moonshift"]["visits"]] == [1, 3]
    (noted,) = [
        entry for entry in ended.object["status"]["moonshift"]["approvals"] if entry["step"] == 1
    ]
    assert (noted["by"], noted["to"]) == ("approver", 3)
    await conclude(story)


async def has_a_longer_plan_from_step_2_on(story: Story) -> None:
    await story.begin()
    await story.reach(2)
    sizes = [
        plan.manifest(story.app.replicas)
        for plan in (*story.app.steps[:2], StepPlan(3), StepPlan(4))
    ]
    await story.amend({"spec": {"strategy": {"canary": {"steps": sizes}}}})
    await story.event("PlanEdited")
    await story.approve(2)
    await story.paused_at(3)
    await story.approve(3)
    await conclude(story)


async def is_taken_back_when_its_pods_never_become_ready(story: Story) -> None:
    await story.install()
    # The rules of a rollback hold from the release on, so the Service must lead to all pods before it.
    await story.settled()
    body = manifests.rollout(story.app)
    body["spec"]["strategy"]["canary"] |= {
        "progressDeadlineSeconds": 3,
        "onDeadlineExceeded": "Rollback",
    }
    await story.govern(body)
    await story.release(BAD_IMAGE)
    given_up = await story.event("RevisionGivenUp")
    assert "0 of 1 new pods are ready" in given_up["message"]
    story.expect_image(STABLE_IMAGE)
    await story.completed()
    await story.release(BAD_IMAGE)
    held = await story.rollout(lambda s: condition(s, "Stalled").get("reason") == "RevisionFailed")
    assert "kubectl moonshift retry" in held.object["status"]["message"]
    await story.release(STABLE_IMAGE)
    await conclude(story)


TIMED = (StepPlan(1, 20, pause=2), StepPlan(2, 50), StepPlan(4, 100))

IN_BETWEEN: tuple[tuple[str, Scenario], ...] = (
    ("canary style, one shared Service", does_nothing_while_its_strategy_is_paused),
    ("partition style, a canary Service", does_nothing_while_its_strategy_is_paused),
    ("canary style, a canary Service", has_a_rollout_that_was_there_before_its_workload),
    ("partition style, a canary Service", is_written_and_approved_in_v1alpha1),
    ("partition style, a canary Service", has_its_manifests_applied_again_by_the_client),
    ("partition style, a canary Service", has_its_manifests_applied_again_by_the_server),
    ("canary style, a canary Service", has_its_manifests_applied_again_by_the_client),
    ("canary style, a canary Service", has_its_manifests_applied_again_by_the_server),
    ("canary style, a canary Service", jumps_forward_over_a_step),
    ("partition style, a canary Service", jumps_forward_over_a_step),
    ("canary style, a canary Service", is_taken_back_when_its_pods_never_become_ready),
    ("partition style, a canary Service", is_taken_back_when_its_pods_never_become_ready),
    ("canary style, no traffic", has_a_longer_plan_from_step_2_on),
    ("partition style, no traffic", has_a_longer_plan_from_step_2_on),
)


def titled(style: str, scenario: Scenario) -> str:
    return f"{style}: {scenario.__name__.replace('_', ' ')}"


SCENARIOS: dict[str, tuple[Application, Scenario]] = {
    **{
        titled(style, scenario): (app, scenario)
        for style, app in STYLES.items()
        for scenario in EVERYWHERE
    },
    **{titled(style, scenario): (STYLES[style], scenario) for style, scenario in IN_BETWEEN},
    titled("canary style, timed", waits_for_the_duration_of_its_pause): (
        replace(STYLES["canary style, a canary Service"], steps=TIMED),
        waits_for_the_duration_of_its_pause,
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_release_keeps_every_invariant_when_disturbed_by(
    name: str,
    product: Product,
    recorder: Recorder,
    releases: Together,
) -> None:
    await releases.result(name)


@pytest.fixture(scope="module")
async def releases(
    request: pytest.FixtureRequest, product: Product, recorder: Recorder
) -> Together:
    """Give the selected scenarios, running."""
    together = Together(AT_ONCE)

    async def tell(name: str) -> None:
        app, scenario = SCENARIOS[name]
        namespace = f"test-{uuid.uuid4().hex[:10]}"
        await product.plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        app = replace(app, namespace=namespace)
        story = Story(product.plane, recorder, app, plainly=True, requests_judged=True)
        await scenario(story)

    selected = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == TEST
    }
    together.start((name, partial(tell, name)) for name in sorted(selected))
    return together


async def test_a_change_is_refused_while_no_controller_answers_and_the_error_says_why(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    app = replace(STYLES["partition style, no traffic"], namespace=namespace_of_product)
    story = Story(product.plane, recorder, app)
    await story.install()
    await story.govern()
    await product.controller.kill()
    try:
        changed = manifests.deployment(app, NEW_IMAGE)
        changed["metadata"]["labels"] = {WORKLOAD_TYPE: "deployment"}
        with pytest.raises(CommandFailed, match=r"failed calling webhook .mdeployment\.kb\.io"):
            await story.apply(changed, server_side=True)
        await story.amend({"metadata": {"labels": {WORKLOAD_TYPE: None}}}, DEPLOYMENTS)
        await story.amend({"spec": {"revisionHistoryLimit": 7}}, DEPLOYMENTS)
    finally:
        await product.controller.start()
