"""The script worker that the reports about routes run their scripts in."""

from tests.unit.lua_configuration.conftest import script_worker

__all__ = ["script_worker"]
