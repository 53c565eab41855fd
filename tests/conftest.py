"""Options of all tests: property tests have no deadline, and on CI they draw fixed examples."""

import os

from hypothesis import settings

settings.register_profile("person", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "person")
