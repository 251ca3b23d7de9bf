"""Garbage collection while the caches of a process are filled, in a process of its own: its settings are global."""

import subprocess
import sys

PROGRAM = """
import asyncio, gc
from controller.app.garbage import FIRST_PASSES, FullCollections
from tests.component.runtime.virtual_time import virtual_time

full = []
gc.callbacks.append(lambda phase, about: full.append(about["generation"]) if phase == "start" else None)
usual = gc.get_threshold()

@virtual_time
async def start():
    collections = FullCollections()
    caches = [[number] for number in range(300_000)]
    collections.await_first_passes()
    await asyncio.sleep(FIRST_PASSES - 1)
    collections.await_first_passes()  # the Lease was taken
    await asyncio.sleep(FIRST_PASSES - 1)
    states = [[number] for number in range(300_000)]
    assert 1 in full, "young garbage is looked for"
    assert 2 not in full, "all objects were gone through at the start"
    await asyncio.sleep(2)
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() > 600_000, "objects of the start are not scanned any more"
    more = [[number] for number in range(300_000)]
    assert 2 in full, "the process scans the objects that came later"

start()
"""


def test_no_collection_goes_through_all_objects_of_a_start_neither_then_nor_later() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)
