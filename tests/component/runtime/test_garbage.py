"""Garbage collection while the caches of a process are filled, in a process of its own: its settings are global."""

import subprocess
import sys

PROGRAM = """
import gc
from controller.app.garbage import FillingCaches

full = []
gc.callbacks.append(lambda phase, about: full.append(about["generation"]) if phase == "start" else None)
usual = gc.get_threshold()
filling = FillingCaches()
caches = [[number] for number in range(300_000)]
assert 1 in full, "young garbage is looked for"
assert 2 not in full, "all objects were gone through while the caches were filled"
filling.ends()
assert gc.get_threshold() == usual
assert gc.get_freeze_count() > 300_000, "what the caches hold is looked at no more"
more = [[number] for number in range(300_000)]
assert 2 in full, "a process that goes on looks through what came later"
"""


def test_no_collection_goes_through_the_caches_while_they_are_filled_nor_through_them_later() -> (
    None
):
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
