"""Somebody else's rules for gateway objects, on a real API server: a policy, and a webhook without an answer.

A release whose first route would be refused makes no pod, says who refuses it, and begins by itself when the rule is
gone. A webhook that gives no answer in the middle of a release is named, too: the API server reports that as a fault of
its own (code 500), which nobody saw in the status.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.errors import RequestRefused
from localcluster.record import Recorder
from tests.cluster.kinds import VIRTUAL_SERVICES
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.status_fields import condition
from tests.cluster.story import Story, conclude

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
STEPS = (StepPlan(1, 20), StepPlan(2, 50))
IN_FORCE_SECONDS = 30.0
REFUSED = "no share below 50 here"
WEIGHTS = "has(r.weight) && r.weight > 0 && r.weight < 50"


@pytest.fixture
def story(product: Product, recorder: Recorder, namespace_of_product: str) -> Story:
    """Give an application with a VirtualService."""
    app = Application("shop", namespace_of_product, True, STEPS, virtual_service=True)
    return Story(product.plane, recorder, app)


def _rule() -> JsonObject:
    return {
        "apiGroups": [VIRTUAL_SERVICES.group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [VIRTUAL_SERVICES.plural],
    }


def _here(namespace: str) -> JsonObject:
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


@asynccontextmanager
async def registered(story: Story, *objects: tuple[str, JsonObject]) -> AsyncIterator[None]:
    """Objects of the API group of admission, for the length of a block."""
    for plural, body in objects:
        await story.client.create(f"{REGISTRATION}/{plural}", body)
    try:
        yield
    finally:
        for plural, body in objects:
            await story.client.delete(f"{REGISTRATION}/{plural}/{body['metadata']['name']}")


def policy(namespace: str) -> tuple[tuple[str, JsonObject], ...]:
    """A policy that refuses small shares in one namespace."""
    expression = f"!object.spec.http.exists(h, has(h.route) && h.route.exists(r, {WEIGHTS}))"
    metadata = {"name": namespace}
    rules = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [_rule()]},
        "validations": [{"expression": expression, "message": REFUSED}],
    }
    bound = {
        "policyName": namespace,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": _here(namespace)},
    }
    return (
        ("validatingadmissionpolicies", {"metadata": metadata, "spec": rules}),
        ("validatingadmissionpolicybindings", {"metadata": metadata, "spec": bound}),
    )


def silent_webhook(namespace: str) -> tuple[str, JsonObject]:
    """A webhook of the gateway's vendor whose program does not run."""
    hook = {
        "name": "validation.vendor.example",
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "rules": [_rule()],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "namespaceSelector": _here(namespace),
    }
    return "validatingwebhookconfigurations", {"metadata": {"name": namespace}, "webhooks": [hook]}


async def stalled(story: Story, reason: str) -> str:
    """The message of the condition Stalled with that reason."""
    found = await story.rollout(lambda s: condition(s, "Stalled").get("reason") == reason)
    return str(condition(found.object["status"], "Stalled")["message"])


async def test_a_policy_against_the_first_route_is_named_before_a_pod_is_made(
    story: Story,
) -> None:
    await story.install()
    await story.govern()
    async with registered(story, *policy(story.app.namespace)):
        await in_force(story)
        await story.release(NEW_IMAGE)
        message = await stalled(story, "GatewayObjectRejected")
        assert REFUSED in message
        assert f"VirtualService {story.app.namespace}/shop" in message
        assert len(story.pods()) == story.app.replicas
    await story.approve_all()
    await conclude(story)


async def in_force(story: Story) -> None:
    """The API server applies a new policy after a moment."""
    path = f"/apis/{VIRTUAL_SERVICES.group}/v1/namespaces/{story.app.namespace}/virtualservices"
    share = {"destination": {"host": "probe"}, "weight": 10}
    probe = {
        "apiVersion": f"{VIRTUAL_SERVICES.group}/v1",
        "kind": "VirtualService",
        "metadata": {"name": "probe"},
        "spec": {"hosts": ["probe"], "http": [{"route": [share]}]},
    }
    async with asyncio.timeout(IN_FORCE_SECONDS):
        while await _accepted(story, f"{path}?dryRun=All", probe):
            pass


async def _accepted(story: Story, path: str, body: JsonObject) -> bool:
    try:
        await story.client.create(path, body)
    except RequestRefused as refused:
        return REFUSED not in str(refused)
    return True


async def test_a_webhook_without_an_answer_is_named_and_the_release_goes_on_after_it(
    story: Story,
) -> None:
    await story.begin()
    await story.paused_at(1)
    async with registered(story, silent_webhook(story.app.namespace)):
        await story.approve(1)
        message = await stalled(story, "WebhookFailed")
        assert 'failed calling webhook "validation.vendor.example"' in message
        assert f"VirtualService {story.app.namespace}/shop was not written" in message
    await story.approve_all(first=2)
    await conclude(story)
