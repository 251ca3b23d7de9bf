"""Before the first pod, a dry run shows whether the API server accepts the first step's objects; nothing is written."""

import copy

import pytest

from controller.api.meta import Key
from controller.domain.decision import Done, Outcome, Refusal
from controller.effects.gateways import GatewayRoutes
from controller.effects.gateways.failed_writes import UNWATCHED
from controller.effects.gateways.script_answers import Tried
from controller.errors import Conflict, Forbidden, Invalid, MoonshiftError, WebhookFailed
from controller.scripts.script_outcome import Refused

from .leading import BOTH, ONE, VS
from .test_companions import REFS, UID, Scene
from .world import Object, ObjectServer, Scripts, plan, split

DENIED = 'admission webhook "validation.example.dev" denied the request: '
SUBJECT = "VirtualService demo/web"


async def rehearsed(routes: GatewayRoutes, release: str = "r1") -> Outcome:
    return await routes.rehearse(plan(ONE, release=release))


async def answered(server: ObjectServer, routes: GatewayRoutes, failure: MoonshiftError) -> Outcome:
    """The outcome of a rehearsal if the API server answers a dry run with a failure."""
    server.refusing = failure
    before = copy.deepcopy(server.objects)
    outcome = await rehearsed(routes)
    assert (server.writes, server.objects) == ([], before)
    return outcome


REFUSALS: dict[str, tuple[MoonshiftError, str]] = {
    "a schema": (Invalid("spec.http: Invalid value", status=422), "GatewayObjectRejected"),
    "a policy": (
        Invalid("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: x", status=422),
        "GatewayObjectRejected",
    ),
    "a webhook": (Forbidden(f"{DENIED}weights must be tens", status=403), "Forbidden"),
    "a webhook with code 400": (Invalid(f"{DENIED}no", status=400), "GatewayObjectRejected"),
    "a missing right": (Forbidden('User "m" cannot update', status=403), "Forbidden"),
    "a webhook without an answer": (
        WebhookFailed('Internal error occurred: failed calling webhook "v"', status=500),
        "WebhookFailed",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_write_that_the_server_would_refuse_is_refused_before_it(
    server: ObjectServer, routes: GatewayRoutes, name: str
) -> None:
    failure, reason = REFUSALS[name]
    outcome = await answered(server, routes, failure)
    assert isinstance(outcome, Refusal)
    assert (outcome.reason, outcome.object) == (reason, SUBJECT)
    assert str(failure) in outcome.message
    assert outcome.retry_after == UNWATCHED


NO_ANSWERS: dict[str, MoonshiftError] = {
    "a webhook with side effects": Invalid(
        'admission webhook "v.example.dev" does not support dry run', status=400
    ),
    "a webhook that misses the canary Service": Forbidden(
        f"{DENIED}Service demo/web-canary not found", status=403
    ),
    "somebody wrote at the same time": Conflict("the object has been modified", status=409),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
async def test_a_dry_run_that_cannot_answer_stops_no_release(
    server: ObjectServer, routes: GatewayRoutes, name: str
) -> None:
    assert not isinstance(await answered(server, routes, NO_ANSWERS[name]), Refusal)
    server.refusing = None
    assert await routes.ensure(plan(ONE)) == Done(wrote=True)


async def test_a_policy_that_names_the_canary_service_is_a_refusal(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    policy = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: web-canary is no host"
    assert isinstance(await answered(server, routes, Invalid(policy, status=422)), Refusal)


async def test_an_object_is_rehearsed_once_in_a_release_and_until_it_is_accepted(
    server: ObjectServer, scripts: Scripts
) -> None:
    tried = Tried()

    async def one_pass(release: str) -> Outcome:
        routes = GatewayRoutes(server, scripts, scripts, tried=tried.of(Key("demo", "web")))
        return await rehearsed(routes, release)

    server.refusing = Invalid("no", status=422)
    assert isinstance(await one_pass("r1"), Refusal)
    server.refusing = None
    assert [await one_pass("r1") for _ in range(3)] == [Done()] * 3
    assert server.dry_runs == ["VirtualService/web"]
    server.edit(*VS, lambda edited: edited.update(status={"a": "new version, the same content"}))
    await one_pass("r1")
    assert len(server.dry_runs) == 1
    server.edit(*VS, lambda edited: edited["spec"].update(hosts=["others.example.com"]))
    await one_pass("r1")
    assert len(server.dry_runs) == 2
    await one_pass("r2")
    assert len(server.dry_runs) == 3
    tried.forget(Key("demo", "web"))
    await one_pass("r2")
    assert len(server.dry_runs) == 4


async def test_every_object_of_the_step_is_rehearsed(
    server: ObjectServer, routes: GatewayRoutes
) -> None:
    assert await routes.rehearse(plan(BOTH, labels={"version": "canary"})) == Done()
    assert sorted(server.dry_runs) == ["DestinationRule/web", "VirtualService/web"]
    assert server.writes == []


async def test_a_companion_object_is_rehearsed_before_the_object_beside_it() -> None:
    scene = Scene()
    assert await scene.routes.rehearse(plan(REFS, uid=UID)) == Done()
    assert scene.server.dry_runs == ["+Ingress/web-canary", "Ingress/web"]
    assert (scene.canary(), scene.server.writes) == (None, [])
    scene.server.forbidden.add(("create", "Ingress"))
    refusal = await scene.routes.rehearse(plan(REFS, uid=UID, release="r2"))
    assert isinstance(refusal, Refusal)
    assert refusal.object == "Ingress demo/web-canary"


async def test_an_object_of_somebody_else_with_the_name_of_a_companion_is_named_before_a_pod() -> (
    None
):
    scene = Scene()
    scene.server.put("Ingress", "web-canary", {"rules": []})
    refusal = await scene.routes.rehearse(plan(REFS, uid=UID))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.object) == ("ObjectNotOurs", "Ingress demo/web-canary")


async def test_a_companion_object_that_exists_is_not_made_again_by_a_rehearsal() -> None:
    scene = Scene()
    await scene.ensure()
    scene.server.dry_runs.clear()
    assert await scene.routes.rehearse(plan(REFS, "40%", uid=UID)) == Done()
    assert scene.server.dry_runs == ["Ingress/web"]


async def test_a_later_step_that_a_script_refuses_is_named_before_the_first_pod(
    server: ObjectServer, routes: GatewayRoutes, scripts: Scripts
) -> None:
    def up_to_half(obj: Object) -> object:
        refused = Refused("RUNTIME_ERROR", "no more than half")
        return refused if obj["canaryWeight"] > 50 else split(obj)

    scripts.add("VirtualService", up_to_half)
    later = ((2, plan(ONE, "50%")), (3, plan(ONE, "80%")))
    refusal = await routes.rehearse(plan(ONE), later)
    assert isinstance(refusal, Refusal)
    assert refusal.message.startswith("step 3 would be refused: ")
    assert "no more than half" in refusal.message
    assert server.writes == []
    asked = len(scripts.asked)
    assert await routes.rehearse(plan(ONE), later[:1]) == Done()
    assert len(scripts.asked) - asked == 1  # step 2 was accepted before
