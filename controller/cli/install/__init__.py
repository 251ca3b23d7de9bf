"""`install --check`: the obstacles in this cluster, before the installation."""
