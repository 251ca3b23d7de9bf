"""`install --check`: what would not work in this cluster, before it is installed."""
