"""Evidence of one of several services."""

from dataclasses import replace

import pandas as pd
import pytest

from correlator.join.places import PLACES, UNNAMED, at, places
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence
from correlator.model.incidents import ENGINE
from tests.correlator.join.synthetic import cut, service


def several(**sizes: int) -> Evidence:
    whole = service(rate=1)
    frames = [whole.requests.head(size).assign(service=name.replace("unnamed", "")) for name, size in sizes.items()]
    return cut(replace(whole, requests=pd.concat(frames, ignore_index=True)))


def test_the_busiest_comes_first() -> None:
    """Services in order of their requests; one without a name is called so."""
    assert ["chat", "search", UNNAMED] == places(several(search=50, chat=90, unnamed=20))


def test_places_are_bounded() -> None:
    """A thousand services are not a thousand looks."""
    assert PLACES == len(places(several(**{f"s{k}": 1 for k in range(PLACES + 10)})))


def test_without_requests_there_is_the_engine() -> None:
    """Metrics alone describe one place; nothing at all describes none."""
    whole = service()
    only_series = replace(whole, requests=whole.requests.iloc[:0])
    assert [ENGINE] == places(cut(only_series))
    assert [] == places(cut(replace(only_series, series=whole.series.iloc[:0])))


@pytest.mark.parametrize(("place", "size"), [("chat", 90), ("search", 50), (UNNAMED, 20)])
def test_only_its_requests_are_left(place: str, size: int) -> None:
    """The state of the system stays, because it is everybody's."""
    whole = several(search=50, chat=90, unnamed=20)
    local = at(whole, place)
    assert size == len(local.requests)
    assert local.series is whole.series


def test_the_engine_is_the_whole() -> None:
    """What was measured of the system is explained with everybody's requests."""
    whole = several(search=50, chat=90)
    assert at(whole, ENGINE) is whole


def test_a_place_beyond_the_busiest_can_still_be_asked_for() -> None:
    """The bound is on what is looked at unasked."""
    many = several(**{f"s{k}": 2 for k in range(PLACES)}, last=1)
    assert "last" not in places(many)
    assert 1 == len(at(many, "last").requests)


def test_an_unknown_place_names_the_known() -> None:
    """No empty evidence for a misspelled service."""
    with pytest.raises(InputError, match=r"'chit'.*there are: chat, search"):
        at(several(search=50, chat=90), "chit")
