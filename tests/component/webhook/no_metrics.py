"""Metrics of admission for tests that do not read them."""


class NoMetrics:
    """Counts nothing."""

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None: ...
