"""One controller process: how its parts are put together."""
