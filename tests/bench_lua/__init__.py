"""The cost of the isolation of scripts, and its benefit: measured side by side, in one run."""
