"""The configuration that pods read at their start: the ConfigMaps and Secrets, and the content of each revision."""
