import msgspec

from controller.api.meta import ObjectMeta
from controller.cli.commands.undo import stable_template, template_patch
from controller.cli.reading.kept_templates import Kept
from controller.cli.views.any_workload import AnyWorkload, WorkloadSpec
from controller.kube.resources import DEPLOYMENTS
from tests.unit.cli.builders import make_rollout, template


def raw(tree: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(tree))


def kept(image: str = "web:2", **templates: msgspec.Raw) -> Kept:
    """A workload of this image, and what is kept of its revisions."""
    workload = AnyWorkload(ObjectMeta(name="web"), WorkloadSpec(template=raw(template(image))))
    return Kept("Deployment shop/web", DEPLOYMENTS, workload, "ReplicaSet", templates)


def test_the_stable_template_is_written_as_its_owner_wrote_it() -> None:
    labelled = template("web:1") | {"$patch": "replace"}
    labelled["metadata"]["labels"]["pod-template-hash"] = "old1"
    assert stable_template(make_rollout(), kept(old1=raw(labelled))) == template("web:1")


def test_the_patch_holds_for_the_generation_that_was_looked_at() -> None:
    assert template_patch(7, {"x": 1}) == [
        {"op": "test", "path": "/metadata/generation", "value": 7},
        {"op": "replace", "path": "/spec/template", "value": {"x": 1}},
    ]


def test_a_refused_undo_gives_its_reason() -> None:
    nothing = make_rollout(stableRevision="", canary={"stableRevision": ""})
    old = raw(template("web:1"))
    assert "no stable revision" in str(stable_template(nothing, kept(old1=old)))
    assert "ReplicaSet of revision old1 of Deployment shop/web is gone" in str(
        stable_template(make_rollout(), kept(new1=old))
    )
    assert "already" in str(stable_template(make_rollout(), kept("web:1", old1=old)))


def test_the_version_whose_template_is_gone_is_named() -> None:
    gone = make_rollout(stableWords="web:1 (ReplicaSet x)")
    text = str(stable_template(gone, kept(new1=raw(template("web:1")))))
    assert text.endswith("is gone: apply the manifest of web:1 (ReplicaSet x)")


def test_no_template_is_taken_from_a_status() -> None:
    """More people may write it than the workload."""
    forged = msgspec.json.encode(template("evil")).decode()
    rollout = make_rollout(stableRevision="forged", keptTemplate=forged)
    assert "is gone" in str(stable_template(rollout, kept(old1=raw(template("web:1")))))
