"""The API server asks, we answer: admission and conversion over HTTPS."""
