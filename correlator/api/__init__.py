"""The HTTP API: incidents, diagnoses on demand, traces, hypotheses and signals under `/api/v1`."""

from correlator.api.app import create_app
from correlator.api.services import Asked, Options, Services

__all__ = ["Asked", "Options", "Services", "create_app"]
