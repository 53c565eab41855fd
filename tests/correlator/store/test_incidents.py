"""Incidents in the store: what is saved comes back, the latest version holds, pages neither lose nor double."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.model.errors import InputError
from correlator.model.evidence import Kind, Window
from correlator.model.incidents import Incident, State, Wanted
from correlator.store import Store
from correlator.store.incidents import Incidents
from correlator.store.schema import statements

T0 = 1_796_009_700_123_456_789


def incident(id: str = "a", opened: int = T0, **changed: object) -> Incident:
    base = Incident(
        id=id,
        detector="change",
        kind=Kind.LATENCY,
        where="rag-api",
        title="slow",
        severity=2.5,
        onset=opened - 5,
        opened=opened,
        updated=opened + 1,
        baseline=Window(opened - 100, opened - 5),
    )
    return replace(base, **changed)


@pytest.fixture
def incidents(store: Store) -> Incidents:
    store.query("TRUNCATE TABLE tollens_incidents")
    return Incidents(store)


def ids(incidents: Incidents, **wanted: object) -> list[str]:
    return [found.id for found in incidents.find(Wanted(**wanted)).incidents]


def all_pages(incidents: Incidents, limit: int) -> Iterator[Incident]:
    page = incidents.find(Wanted(limit=limit))
    yield from page.incidents
    while page.next is not None:
        page = incidents.find(Wanted(limit=limit, cursor=page.next))
        yield from page.incidents


def test_what_is_saved_comes_back_to_the_nanosecond(incidents: Incidents) -> None:
    """Every field of an incident survives, whatever signs its texts hold."""
    saved = incident(
        where="it's \\ a\ttab\nand \0 zero {x:String}",
        title="é 💥",
        note="n",
        kind=None,
        failure="f",
        alerts=("a1", "b-2"),
        state=State.CLOSED,
        closed=T0 + 2,
        quiet_since=T0 + 1,
        diagnosed=T0 + 3,
        agreed=1,
        diagnosis={"findings": [{"hypothesis": "x'\0", "probability": 0.1}], "none": None},
        merged_into="b",
    )
    incidents.save(saved)
    assert saved == incidents.get("a")


def test_a_table_of_an_earlier_version_gets_the_columns_it_lacks(store: Store, incidents: Incidents) -> None:
    """Columns added since are empty in what was saved before; the statements of the schema may run again."""
    store.query("ALTER TABLE tollens_incidents DROP COLUMN failure, DROP COLUMN alerts")
    for statement in statements():
        if "tollens_incidents" in statement:
            store.query(statement)
    incidents.save(incident(alerts=("a1",), failure="f"))
    assert incident(alerts=("a1",), failure="f") == incidents.get("a")


def test_an_unknown_id_gives_none(incidents: Incidents) -> None:
    """Nothing is invented for an id that nobody saved."""
    assert incidents.get("nobody") is None


def test_the_highest_version_holds(incidents: Incidents) -> None:
    """Versions saved in any order: the highest is read, and listed once."""
    versions = [incident(version=v, title=f"v{v}") for v in (1, 3, 2)]
    for version in versions:
        incidents.save(version)
    assert versions[1] == incidents.get("a")
    assert ["v3"] == [found.title for found in incidents.find(Wanted()).incidents]


def test_a_list_leaves_the_diagnoses_out(incidents: Incidents) -> None:
    """A page is light: diagnoses come with the single incident."""
    incidents.save(incident(diagnosis={"findings": []}))
    assert [None] == [found.diagnosis for found in incidents.find(Wanted()).incidents]


def test_filters_choose(incidents: Incidents) -> None:
    """State, kind, place and time each leave out what does not match."""
    incidents.save(incident("open", T0))
    incidents.save(incident("closed", T0 + 10, state=State.CLOSED, closed=T0 + 20))
    incidents.save(incident("errors", T0 + 30, kind=Kind.ERRORS, where="it's"))
    assert ["errors", "closed", "open"] == ids(incidents)
    assert ["closed"] == ids(incidents, state=State.CLOSED)
    assert ["errors"] == ids(incidents, kind=Kind.ERRORS)
    assert ["errors"] == ids(incidents, where="it's")
    assert ["errors", "open"] == ids(incidents, since=T0 + 21)
    assert ["closed", "open"] == ids(incidents, until=T0 + 30)
    assert [] == ids(incidents, where="")


def test_live_are_those_open_or_closed_lately(incidents: Incidents) -> None:
    """What the watcher follows: with diagnoses, earliest first, without what was merged or is long over."""
    told = {"findings": []}
    incidents.save(incident("late", T0 + 2, state=State.CLOSED, closed=T0 + 50))
    incidents.save(incident("open", T0, diagnosis=told))
    incidents.save(incident("old", T0 + 1, state=State.CLOSED, closed=T0 + 9))
    incidents.save(incident("merged", T0 + 3, state=State.MERGED, closed=T0 + 60, merged_into="open"))
    live = incidents.live(T0 + 10, 10)
    assert [("open", told), ("late", None)] == [(found.id, found.diagnosis) for found in live]


def test_only_the_latest_are_kept_but_never_an_open_one_is_lost(store: Store, incidents: Incidents) -> None:
    """Beyond the limit the oldest that are over go, and it is counted."""
    few = Incidents(store, kept=2)
    few.save(incident("open", T0))
    for k in range(1, 5):
        few.save(incident(f"c{k}", T0 + k, state=State.CLOSED, closed=T0 + k))
    assert ["c4", "c3", "open"] == ids(few)
    assert 2 == few.forgotten


@pytest.mark.parametrize("cursor", ["", "x", "!!!!", "LTE6YQ", "MTI6", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OmE"])
def test_a_cursor_that_no_page_gave_is_an_error(incidents: Incidents, cursor: str) -> None:
    """A made-up cursor says so instead of giving an empty or a first page."""
    with pytest.raises(InputError, match="cursor"):
        incidents.find(Wanted(cursor=cursor))


def test_incidents_outlive_the_process(tmp_path: Path) -> None:
    """A folder opened again knows its incidents: another process is started, because one engine runs in each."""
    code = (
        "import sys, pathlib\n"
        "from correlator.store import Store\n"
        "from correlator.store.incidents import Incidents\n"
        "from correlator.model.incidents import *\n"
        "from correlator.model.evidence import *\n"
        "with Store.open(pathlib.Path(sys.argv[1])) as s:\n"
        "    i = Incidents(s)\n"
        "    if sys.argv[2] == 'save':\n"
        "        i.save(Incident(id='a', detector='c', kind=Kind.ERRORS, where='w', title='t', severity=1.0, onset=1,\n"
        "            opened=2, updated=3, baseline=Window(1, 2)))\n"
        "    print(i.get('a').title)\n"
    )
    for step in ("save", "read"):
        command = [sys.executable, "-c", code, str(tmp_path), step]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert ("t\n", 0) == (done.stdout, done.returncode), done.stderr


@settings(max_examples=15)
@given(
    times=st.lists(st.integers(0, 9), max_size=12),
    later=st.lists(st.integers(0, 9), max_size=6),
    limit=st.integers(1, 5),
)
def test_pages_put_together_are_the_whole_list(store: Store, times: list[int], later: list[int], limit: int) -> None:
    """Whatever opens meanwhile, each incident that was there comes exactly once, in order."""
    store.query("TRUNCATE TABLE tollens_incidents")
    incidents = Incidents(store)
    for k, second in enumerate(times):
        incidents.save(incident(f"i{k}", T0 + second))
    expected = ids(incidents, limit=500)
    coming = iter(later)
    found = []
    for one in all_pages(incidents, limit):
        found.append(one.id)
        if (second := next(coming, None)) is not None:
            incidents.save(incident(f"new{len(found)}", T0 + 10 + second))
    assert expected == found
