"""The host's facts, and what its CPU counts."""
