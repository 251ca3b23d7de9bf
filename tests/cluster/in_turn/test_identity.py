"""The controller's own writes pass its webhooks under every user name; kubectl of the same user does not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.names import MUTATING_CONFIGURATION
from demo.stage import CONTROLLER, NAMESPACE, Product
from localcluster.plane import Plane
from localcluster.ports import free_ports
from tests.cluster.conftest import fresh_namespace
from tests.cluster.in_turn.conftest import recordable, vacated
from tests.cluster.kinds import RECORDED
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story, conclude

ELSEWHERE, ROBOT = "elsewhere", "robot"
APP = Application(
    "shop", "", False, (StepPlan(1, 20), StepPlan(2)), virtual_service=True, replicas=2, grace=0
)
CONFIGURATION = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + MUTATING_CONFIGURATION
)


def elsewhere(product: Product) -> list[dict[str, Any]]:
    """The rights of the manifests, given to another account in another namespace; the manifests' account has none."""
    found: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ROBOT, "namespace": ELSEWHERE},
        },
    ]
    for doc in product.manifests:
        if doc["kind"] in ("Role", "RoleBinding"):
            doc = {**doc, "metadata": {**doc["metadata"], "namespace": ELSEWHERE}}
        if doc["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            subject = {"kind": "ServiceAccount", "name": ROBOT, "namespace": ELSEWHERE}
            doc = {**doc, "subjects": [subject]}
        if doc["kind"] in ("Role", "RoleBinding", "ClusterRoleBinding"):
            found.append(doc)
    return found


async def kubeconfig_of(product: Product, who: str) -> Path:
    """The credential of another account in another namespace, or that of a developer."""
    if who == "a developer":
        return product.plane.kubeconfig("developer")
    await product.plane.apply(yaml.safe_dump_all(elsewhere(product)))
    token = await product.plane.service_account_token(ELSEWHERE, ROBOT)
    return product.plane.kubeconfig_for_token("robot", token)


NAMES = {
    "another account": f"system:serviceaccount:{ELSEWHERE}:{ROBOT}",
    "a developer": "developer",
}


async def bindings_are_gone(plane: Plane) -> None:
    """No account has the rights of the manifests."""
    await plane.kubectl("delete", "clusterrolebinding", "-l", "app.kubernetes.io/part-of=moonshift")


@pytest.mark.parametrize("who", NAMES)
async def test_a_release_succeeds_with_any_user_name_of_the_controller(
    who: str, ground: Plane, tmp_path: Path
) -> None:
    await ground.apply(
        yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}})
    )
    await vacated(ground)
    product = Product(ground, tmp_path, free_ports(5))
    await product.install()
    await bindings_are_gone(ground)
    kubeconfig = await kubeconfig_of(product, who)
    try:
        await product.start([f"--namespace={ELSEWHERE}"], kubeconfig)
        published = await ground.client().get(CONFIGURATION)
        for entry in published["webhooks"]:
            expression = entry["matchConditions"][0]["expression"]
            assert f"in ['{NAMES[who]}', " in expression
            assert f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}" in expression
        await recordable(ground)
        async with fresh_namespace(ground) as namespace, ground.recorder(*RECORDED) as recorder:
            story = Story(ground, recorder, replace(APP, namespace=namespace))
            await story.begin()
            await story.approve_all()
            await conclude(story)
    finally:
        await product.stop()
        await bindings_are_gone(ground)
