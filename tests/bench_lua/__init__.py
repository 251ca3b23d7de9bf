"""What the isolation of scripts costs, and what it buys: measured side by side, in one run."""
