"""Facts about a release that a script gets: those that are known, and no empty ones."""

from controller.domain.decision import CheckedRelease
from controller.domain.exchange.release import about_checked, about_release


def test_a_source_gets_the_side_that_is_asked_and_the_release() -> None:
    words = {
        "rollout": "web",
        "namespace": "shop",
        "canary.revision": "n",
        "stable.revision": "o",
        "stable.service": "web",
        "step": "2",
        "weight": "12.5",
    }
    assert about_release(words, "stable") == {
        "service": "web",
        "revision": "o",
        "release": {
            "rollout": "web",
            "namespace": "shop",
            "revision": "n",
            "stableRevision": "o",
            "step": 2,
        },
    }


def test_a_fact_that_is_not_known_is_absent() -> None:
    assert about_release({}, "canary") == {"release": {}}


def test_a_check_gets_the_images_and_the_place_where_it_is_asked() -> None:
    release = CheckedRelease("web", "shop", "n", "", 1, 3, "routed", images={"web": "img:v2"})
    assert about_checked(release) == {
        "release": {
            "rollout": "web",
            "namespace": "shop",
            "revision": "n",
            "step": 1,
            "steps": 3,
            "images": {"web": "img:v2"},
            "phase": "routed",
        }
    }
