"""What pods read at their start: which ConfigMaps and Secrets, and which content belongs to which revision."""
