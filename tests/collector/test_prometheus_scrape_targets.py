"""Where the scraper's targets come from: fixed ones, files in Prometheus' format, changes, mistakes and bounds."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from collector.prometheus_scrape import Scraper
from collector.scraping.targets import MAX_FILE_BYTES, Discovery, ScrapeJob, ScrapeSettings, Target
from tests.collector.memory_sink import MemorySink
from tests.collector.pages import pages


def discovery(*jobs: dict[str, Any], **settings: Any) -> Discovery:
    return Discovery(ScrapeSettings(jobs=tuple(ScrapeJob(**{"name": "llm", **job}) for job in jobs), **settings))


def write(path: Path, content: object) -> None:
    """Replace a file as a whole, and never with the stamp of the one before."""
    fresh = path.with_suffix(".new")
    fresh.write_text(content if isinstance(content, str) else json.dumps(content))
    os.replace(fresh, path)


def urls(targets: tuple[Target, ...]) -> list[str]:
    return [target.url for target in targets]


@pytest.mark.parametrize(
    ("address", "fields", "expected"),
    [
        ("gpu-1:9400", {}, "http://gpu-1:9400/metrics"),
        ("gpu-1", {}, "http://gpu-1:80/metrics"),
        ("gpu-1", {"scheme": "https", "metrics_path": "/m?a=b"}, "https://gpu-1:443/m?a=b"),
        ("[::1]:9400", {}, "http://[::1]:9400/metrics"),
    ],
)
def test_an_address_becomes_a_url(address: str, fields: dict[str, Any], expected: str) -> None:
    """Host, port or the scheme's usual one, scheme and path."""
    assert [expected] == urls(discovery({"targets": [address], **fields}).targets())


@pytest.mark.parametrize(
    "address", ["", "http://x:1", "user:secret@x:1", "x:0", "x:99999", "x:1/y", "a b:1", "[::1", "é:1"]
)
def test_a_bad_address_is_refused(address: str) -> None:
    """What is no host and port is refused when settings are read, and named."""
    with pytest.raises(ValidationError, match="expected host:port"):
        ScrapeJob(name="llm", targets=(address,))


@pytest.mark.parametrize(
    "fields",
    [{"interval_s": 0.01}, {"timeout_s": 0}, {"metrics_path": "metrics"}, {"metrics_path": "/a b"}, {"scheme": "ftp"},
     {"name": ""}, {"sample_limit": 10**9}, {"body_limit_bytes": 0}, {"tagrets": []}],
)  # fmt: skip
def test_a_bad_setting_is_refused(fields: dict[str, Any]) -> None:
    """Values outside their bounds and unknown names are refused."""
    with pytest.raises(ValidationError):
        ScrapeJob(**{"name": "llm", **fields})


YAML = """
- targets: ['gpu-1:9400', "gpu-2:9400"]
  labels:
    job: dcgm
    rack: 07
    on: yes
    __scheme__: https
    __metrics_path__: /m
    __scrape_interval__: 1m30s
    __scrape_timeout__: 500ms
    __meta_zone: b
"""
JSON = [
    {
        "targets": ["gpu-1:9400", "gpu-2:9400"],
        "labels": {"job": "dcgm", "rack": "07", "on": "yes", "__scheme__": "https", "__metrics_path__": "/m",
                   "__scrape_interval__": "1m30s", "__scrape_timeout__": "500ms", "__meta_zone": "b"},
    }
]  # fmt: skip


@pytest.mark.parametrize(("name", "content"), [("a.yml", YAML), ("a.yaml", YAML), ("a.json", JSON)])
def test_a_file_of_targets(tmp_path: Path, name: str, content: object) -> None:
    """YAML and JSON say the same; labels with underscores set scheme, path, interval and time-out."""
    write(tmp_path / name, content)
    first, second = discovery({"files": [str(tmp_path / "*.*")], "labels": {"rack": "x", "row": "1"}}).targets()
    assert ("https://gpu-1:9400/m", "https://gpu-2:9400/m") == (first.url, second.url)
    assert (90.0, 0.5, "dcgm", "gpu-1:9400") == (first.interval_s, first.timeout_s, first.job, first.instance)
    assert {"rack": "07", "row": "1", "on": "yes"} == dict(first.labels)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """New content counts, a file that is gone takes its targets along, one that appears brings them."""
    found = discovery({"files": [str(tmp_path / "*.json")]})
    assert [] == urls(found.targets())
    write(tmp_path / "a.json", [{"targets": ["a:1"]}])
    assert ["http://a:1/metrics"] == urls(found.targets())
    write(tmp_path / "a.json", [{"targets": ["b:1"]}, {"targets": []}])
    assert ["http://b:1/metrics"] == urls(found.targets())
    (tmp_path / "a.json").unlink()
    assert ([], {}) == (urls(found.targets()), found.problems)


BROKEN = {
    "half": '[{"targets": ["b:1"',
    "no list": '{"targets": ["b:1"]}',
    "a number": '[{"targets": 7}]',
    "an unknown key": '[{"targets": [], "lables": {}}]',
    "nested": "[" * 2_000,
    "too long": " " * (MAX_FILE_BYTES + 1),
    "no text": "\x00",
}


@pytest.mark.parametrize("suffix", ["json", "yml"])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_keeps_what_it_said_before(tmp_path: Path, content: str, suffix: str) -> None:
    """A file that cannot be used, half written perhaps, is named and changes nothing; mended, it counts again."""
    path = tmp_path / f"a.{suffix}"
    found = discovery({"files": [str(path)]})
    write(path, [{"targets": ["a:1"]}])
    assert ["http://a:1/metrics"] == urls(found.targets())
    write(path, content)
    for _ in range(2):
        assert ["http://a:1/metrics"] == urls(found.targets())
        assert [str(path)] == list(found.problems)
    write(path, [{"targets": ["b:1"]}])
    assert (["http://b:1/metrics"], {}) == (urls(found.targets()), found.problems)


@pytest.mark.parametrize(
    "group",
    [{"targets": ["no port:"]}, {"targets": ["x:1"], "labels": {"__scrape_interval__": "soon"}},
     {"targets": ["x:1"], "labels": {"__scrape_interval__": "0s"}},
     {"targets": ["x:1"], "labels": {"__scheme__": "ftp"}},
     {"targets": ["x:1"], "labels": {"__metrics_path__": "http://elsewhere"}}],
)  # fmt: skip
def test_a_bad_target_of_a_file_costs_itself_only(tmp_path: Path, group: dict[str, Any]) -> None:
    """A target that cannot be is named with its file; the others are scraped."""
    write(tmp_path / "a.json", [group, {"targets": ["good:1"]}])
    found = discovery({"files": [str(tmp_path / "a.json")]})
    assert ["http://good:1/metrics"] == urls(found.targets())
    assert [f"{tmp_path / 'a.json'} {group['targets'][0]}"] == list(found.problems)


def test_targets_and_problems_are_bounded(tmp_path: Path) -> None:
    """No more targets than the settings allow, said as a problem; a thousand mistakes are not all kept."""
    write(tmp_path / "a.json", [{"targets": [f"a{n}:1" for n in range(50)] + [f"{n}:x" for n in range(1000)]}])
    found = discovery({"files": [str(tmp_path / "a.json")]}, {"targets": ["b:1", "b:1"]}, max_targets=10)
    assert 10 == len(found.targets())
    assert 100 == len(found.problems)
    few = discovery({"targets": ["b:1", "b:1", "c:1"]}, max_targets=1)
    assert (["http://b:1/metrics"], ["max_targets"]) == (urls(few.targets()), list(few.problems))


def test_a_target_taken_from_its_file_is_left_alone(tmp_path: Path) -> None:
    """A target no longer listed gets no request any more, and all its series end, those about the scrape too."""
    sink = MemorySink()
    path = tmp_path / "a.json"
    with pages("depth 1\n") as first, pages("depth 2\n") as second:
        write(path, [{"targets": [first.address]}])
        job = ScrapeJob(name="llm", files=(str(path),), interval_s=0.1, timeout_s=20)
        scraper = Scraper(ScrapeSettings(jobs=(job,), refresh_s=0.1), sink)
        scraper.start()
        try:
            sink.until(lambda: 1.0 in sink.values("depth"))
            write(path, [{"targets": [second.address]}])
            sink.until(lambda: 2.0 in sink.values("depth") and any(p.gone for p in sink.points("depth")))
            asked = len(first.seen)
            sink.clear()
            sink.until(lambda: len(sink.points("up")) >= 3)
        finally:
            scraper.stop()
    assert asked == len(first.seen)
    assert {second.address} == {point.resource["service.instance.id"] for point in sink.points()}
    assert 1 == len(scraper.state().targets)
