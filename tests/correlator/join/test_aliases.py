"""The alias file and the canonical names agree, and every entry can be used."""

import re
from collections import Counter
from importlib.resources import files

import pytest
import yaml

from correlator.join.aliases import MetricAlias, metrics, span_attributes, spelled, spellings
from correlator.model import names as n

ENTRIES = yaml.safe_load(files("configs").joinpath("signals.yaml").read_text())
INTERNAL = {
    "completion_rate", "failure_rate", "cached_token_rate", "host_cpu_idle", "host_cpu_idle_rate",
    "cpu_throttled_periods", "cpu_periods", "process_start", "telemetry_accepted", "telemetry_refused",
    "telemetry_unqueued", "telemetry_unsent", "telemetry_dropped", "gpu_memory_free", "gpu_memory_reserved",
    "nvlink_crc_flit", "nvlink_crc_data", "nvlink_replay", "nvlink_recovery", "gpu_process_memory", "gpu_process_sm",
    "gpu_last_xid", "length_stop_rate", "degenerate_stop_rate", "corrupted_rate",
    "intake_accepted", "intake_refused",
}  # fmt: skip
"""Read from sources only to derive canonical signals from them."""


def test_every_entry_is_canonical_or_an_ingredient() -> None:
    """A name in the file is a canonical signal, or one of the few that others are derived from."""
    assert INTERNAL == set(ENTRIES) - set(n.SIGNALS)


@pytest.mark.parametrize("signal", sorted(set(ENTRIES) - INTERNAL))
def test_units_agree(signal: str) -> None:
    """The file and the code give a signal the same unit."""
    assert n.SIGNALS[signal].unit == ENTRIES[signal]["unit"]


@pytest.mark.parametrize("signal", sorted(ENTRIES))
def test_entries_hold_nothing_unknown(signal: str) -> None:
    """No key of the file is ignored, and each entry names at least one source."""
    entry = ENTRIES[signal]
    assert set(entry) <= {"unit", "span_attributes", "metrics", "per"}
    assert entry.get("per", "gpu") == "gpu"
    assert entry.get("span_attributes") or entry.get("metrics")
    for metric in entry.get("metrics", []):
        assert {"name", "how"} <= set(metric) <= {"name", "how", "scale", "across", "where", "only", "bits"}
        assert metric["how"] in {"level", "rate", "mean"}
        assert metric.get("across", "mean") in {"sum", "mean", "max", "min"}


@pytest.mark.parametrize("signal", sorted(ENTRIES))
def test_how_a_metric_is_read_fits_the_unit(signal: str) -> None:
    """Rates belong to units per second (or of a share of time), means of requests to no rate."""
    unit = ENTRIES[signal]["unit"]
    hows = {metric["how"] for metric in ENTRIES[signal].get("metrics", [])}
    assert not ("rate" in hows and not (unit.endswith("/s") or unit == "1"))
    assert not ("mean" in hows and unit.endswith("/s"))


def test_a_name_means_one_thing() -> None:
    """No two aliases claim the same metric with the same label and reading, however it is spelled."""
    claims = [
        (name, alias.how, label, str(alias.only), alias.bits)
        for name, aliases in spelled().items()
        for alias in aliases
        for label in [(k, v) for k, values in alias.where.items() for v in values] or [None]
    ]
    assert [] == [claim for claim, times in Counter(claims).items() if times > 1]


@pytest.mark.parametrize(
    ("unit", "how", "expected"),
    [
        ("s", "mean", {"a_b": 0.5, "a_b_seconds": 1, "a_b_milliseconds": 0.001}),
        ("1", "level", {"a_b": 0.5, "a_b_ratio": 1}),
        ("By", "level", {"a_b": 0.5, "a_b_bytes": 1}),
        ("{token}", "mean", {"a_b": 0.5, "a_b_token": 1}),
        ("{request}", "level", {"a_b": 0.5}),
        ("{request}/s", "rate", {"a_b": 0.5, "a_b_total": 0.5}),
        ("1", "rate", {f"a_b{s}{t}": v for s, v in (("", 0.5), ("_seconds", 1), ("_milliseconds", 0.001))
                       for t in ("", "_total")}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.b", "a:b", "a_b"])
def test_a_name_has_the_spellings_of_prometheus(name: str, unit: str, how: str, expected: dict[str, float]) -> None:
    """The unit and `_total` may be appended; a unit in the name overrules the scale of the alias."""
    alias = MetricAlias(signal="x", unit=unit, name=name, how=how, rank=0, scale=0.5)
    assert expected == dict(spellings(alias))


def test_a_counter_that_says_total_has_a_name_without() -> None:
    """`_total` is neither needed nor doubled."""
    alias = MetricAlias(signal="x", unit="{token}/s", name="a:b_total", how="rate", rank=0)
    assert {"a_b", "a_b_total", "a_b_token", "a_b_token_total"} == dict(spellings(alias)).keys()


def test_times_in_milliseconds_are_scaled() -> None:
    """A name that says milliseconds has the factor that makes seconds of it."""
    wrong = [a.name for a in metrics() if re.search(r"_ms$|_milliseconds", a.name) and a.scale != 0.001]
    assert [] == wrong


def test_everything_in_the_file_is_looked_up() -> None:
    """The lookups hold each alias of the file, in its order of preference."""
    written = {s: [m["name"] for m in e["metrics"]] for s, e in ENTRIES.items() if "metrics" in e}
    read: dict[str, list[str]] = {}
    for alias in sorted(metrics(), key=lambda a: (a.signal, a.rank)):
        read.setdefault(alias.signal, []).append(alias.name)
    assert written == read
    assert {s: tuple(e["span_attributes"]) for s, e in ENTRIES.items() if "span_attributes" in e} == span_attributes()
