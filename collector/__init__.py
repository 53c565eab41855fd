"""Telemetry comes in: readers, receivers, samplers. Knows nothing of causes."""
