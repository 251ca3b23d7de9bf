"""Moonshift's controller: watches, decides, writes. Rooms and the direction of their imports: docs/architecture.md."""
