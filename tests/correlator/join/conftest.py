"""One store for all tests of a file: opening is slow, emptying is not."""

from collections.abc import Iterator

import pytest

from correlator.store import Store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open() as store:
        yield store
