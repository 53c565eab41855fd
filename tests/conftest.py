"""Options of all tests: property tests have no deadline, and on CI they draw fixed examples.

Names of cases never hold bytes: compressed ones carry the second at which they were made, and parallel workers
must find the same names.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("person", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "person")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Return the name of a case's value: for bytes the parameter's name, else what pytest makes of it."""
    return argname if isinstance(val, bytes) else None
