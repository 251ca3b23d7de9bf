"""The real worker runs the scripts here, too."""

from tests.unit.lua_configuration.conftest import script_worker

__all__ = ["script_worker"]
