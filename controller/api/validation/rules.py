"""The administrator's flags that decide which Rollouts are accepted."""

import msgspec


class Rules(msgspec.Struct, frozen=True):
    """The administrator's choice, by flags."""

    partition_percent_limit: int = 50
    filter_workload_type: bool = False
    """Refuse Rollouts of kinds that are not known by name, whatever label their objects carry."""
    tracks_config: bool = False


DEFAULT_RULES = Rules()
