"""One store for all tests of this folder: opening is slow, emptying is not."""

import pytest

from correlator.store import Store


@pytest.fixture(scope="module")
def store():
    with Store.open() as store:
        yield store
