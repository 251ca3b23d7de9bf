"""Loads every module of the project before Hypothesis looks for constants in them.

Why it exists: Hypothesis also tries the constants that it finds in the project's loaded modules. A process of the tests
has loaded the modules of the tests that it ran before, so the same property met other examples in each process, and a
change that had nothing to do with it failed by chance. Invariant: all modules except those of the tests, which
Hypothesis never reads. It must not start anything: modules that are programs are left out.
"""

import functools
import importlib
import pkgutil

import controller
import demo
import localcluster
import luaworker
import protos

PACKAGES = (controller, demo, localcluster, luaworker, protos)


@functools.cache
def load_all_modules() -> None:
    """Import them once."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
