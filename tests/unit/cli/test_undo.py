import msgspec

from controller.cli.undo import stable_template, template_patch
from tests.unit.cli.builders import make_deployment, make_replica_set, make_rollout, template

SETS = [make_replica_set("old1", "web:1")[0], make_replica_set("new1", "web:2")[0]]


def test_the_stable_template_is_written_without_the_controllers_label() -> None:
    labelled = template("web:1")
    labelled["metadata"]["labels"]["pod-template-hash"] = "old1"
    stable = msgspec.structs.replace(
        SETS[0],
        spec=msgspec.structs.replace(
            SETS[0].spec, template=msgspec.Raw(msgspec.json.encode(labelled))
        ),
    )
    assert stable_template(make_rollout(), make_deployment(), [stable]) == template("web:1")


def test_the_patch_holds_for_the_generation_that_was_looked_at() -> None:
    assert template_patch(make_deployment(), {"x": 1}) == [
        {"op": "test", "path": "/metadata/generation", "value": 7},
        {"op": "replace", "path": "/spec/template", "value": {"x": 1}},
    ]


def test_why_nothing_can_be_undone_is_said() -> None:
    nothing = make_rollout(stableRevision="", canary={"stableRevision": ""})
    assert "no stable revision" in str(stable_template(nothing, make_deployment(), SETS))
    assert "is gone" in str(stable_template(make_rollout(), make_deployment(), []))
    same = stable_template(make_rollout(), make_deployment(image="web:1"), SETS)
    assert "already" in str(same)
