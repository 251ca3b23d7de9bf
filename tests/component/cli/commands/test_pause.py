"""`pause` and `resume` are the original's patches."""

from pathlib import Path

from tests.component.cli.double import (
    cluster,
    make_rollout,
)


async def test_pause_and_resume_are_the_originals_patches(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api", paused=True)) as api:
        paused = await api.run("pause", "web")
        again = await api.run("rollout", "pause", "api")
        resumed = await api.run("resume", "api")
        not_paused = await api.run("resume", "web")
    assert paused.output == "rollout.rollouts.kruise.io/web paused\n"
    assert again.stderr == 'error: rollouts.rollouts.kruise.io "api" is already paused\n'
    assert resumed.output == "rollout.rollouts.kruise.io/api resumed\n"
    assert not_paused.exit_code == again.exit_code == 1
    assert [body for _, _, body in api.patches] == [
        {"spec": {"strategy": {"paused": True}}},
        {"spec": {"strategy": {"paused": None}}},
    ]
