"""Writes the OpenAPI document: `python -m correlator.api.openapi > docs/openapi.json`."""

from __future__ import annotations

import json
import sys

from correlator.api.app import create_app
from correlator.api.services import Services
from correlator.model.incidents import Page


def document() -> str:
    """The document as text; it does not depend on what is served."""
    app = create_app(
        Services(
            diagnose=lambda asked: {},
            list_incidents=lambda wanted: Page((), None),
            get_incident=lambda id: None,
            trace=lambda id: None,
            hypotheses=lambda: [],
            signals=lambda: [],
            alerts=lambda alerts: [],
            ready=lambda: None,
        )
    )
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
