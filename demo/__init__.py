"""The program of `make demo`: the product's main job, played and checked on a real control plane. Development only."""
