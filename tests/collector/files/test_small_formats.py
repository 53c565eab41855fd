"""Kubernetes events, cgroup figures, folded stacks and OpenAI-style responses."""

import json
from typing import Any

import pytest
import yaml

from collector.files import cgroup_stat, kubernetes_events
from collector.files._contract import Options, Source
from tests.collector.files.log_reading import attributes, nano, source
from tests.collector.files.samples import (
    CGROUP,
    EVENTS,
    KUBERNETES,
    RESPONSE,
    STACKS,
    Told,
    read_as,
    sample,
    told,
)  # fmt: skip

AT = 1796010000 * 10**9


def test_events_of_a_table_have_the_time_of_their_age() -> None:
    """Ages count from the file's time; reasons are named, and a happy one is only a record."""
    found = sample("1796010000.events")
    assert ["probe_failed", "probe_restart", "container_back_off"] == found.happened()
    assert [540, 420, 419, 312] == sorted(((AT - log.time_unix_nano) // 10**9 for log in found.logs), reverse=True)
    assert {"k8s.pod.name": "vllm-7d9", "k8s.event.count": 3}.items() <= found.events[1][1].items()


def test_a_table_of_all_namespaces_is_read() -> None:
    """The namespace is a column of its own, and the object may be no pod."""
    text = (
        "NAMESPACE   LAST SEEN   TYPE      REASON         OBJECT       MESSAGE\n"
        "default     2d3h        Warning   NodeNotReady   node/gpu-1   Node gpu-1 status is now: NodeNotReady\n"
    )
    ((name, told_),) = read_as("kubernetes_events", text, "1796010000").events
    assert ("node_not_ready", "default", "gpu-1") == (name, told_["k8s.namespace.name"], told_["k8s.node.name"])


def test_ages_without_a_time_of_the_file_are_not_dated() -> None:
    """Standard input: each row is named, nothing is guessed."""
    found = read_as("kubernetes_events", EVENTS)
    assert ([], [2, 3, 4, 5]) == (found.logs, [problem.line for problem in found.problems])


def test_a_row_that_is_none_is_named_by_its_line() -> None:
    """`<unknown>` is no age."""
    found = read_as("kubernetes_events", EVENTS.replace("9m ", "<unknown> "), "1796010000")
    assert [5] == [problem.line for problem in found.problems]


def test_a_described_pod_tells_how_its_container_ended() -> None:
    """The last state with its own full time, container and exit code, and the events below."""
    found = sample("1796010000.described")
    (killed, ended), (probe, _) = found.events
    assert ("oom_kill", "probe_failed") == (killed, probe)
    assert {"k8s.container.name": "vllm", "exit_code": "137", "k8s.namespace.name": "prod"}.items() <= ended.items()
    assert nano("2026-11-30 03:30:00") == min(log.time_unix_nano for log in found.logs)


def as_json(value: Any) -> str:
    return json.dumps(value)


def as_lines(value: Any) -> str:
    return "".join(json.dumps(item) + "\n" for item in value["items"])


def as_watch(value: Any) -> str:
    return "".join(json.dumps({"type": "ADDED", "object": item}) + "\n" for item in value["items"])


def as_yaml(value: Any) -> str:
    return yaml.safe_dump(value)


@pytest.mark.parametrize("written", [as_json, as_lines, as_watch, as_yaml])
def test_objects_of_the_api_are_read_in_every_form(written: Any) -> None:
    """A list, lines, a watch and YAML tell the same of events and of pods."""
    found = read_as("kubernetes_events", written(KUBERNETES))
    assert [] == found.problems
    assert ["oom_kill", "pod_evicted"] == found.happened()
    evicted = found.events[1][1]
    assert {"k8s.node.name": "gpu-1", "k8s.container.name": "vllm", "k8s.event.count": 2}.items() <= evicted.items()


@pytest.mark.parametrize("key", ["initContainerStatuses", "ephemeralContainerStatuses"])
@pytest.mark.parametrize("written", [as_json, as_yaml])
def test_init_containers_end_too(written: Any, key: str) -> None:
    """A pod whose first container is killed tells so, and is known for a pod without any other."""
    pod = json.loads(json.dumps(KUBERNETES["items"][1]).replace("containerStatuses", key))
    found = read_as("kubernetes_events", written(pod))
    assert (["oom_kill"], []) == (found.happened(), found.problems)
    assert 0.9 < kubernetes_events.accepts(source(written(pod)))


@pytest.mark.parametrize(
    "text",
    ["kind: List\nitems: [1, {kind: Service}]\n", "kind: [\n", "kind: Event\nreason: x\ninvolvedObject: 3\n",
     '{"kind": "Pod", "status": {"containerStatuses": [3, {"lastState": {"terminated": {"finishedAt": 5}}}]}}',
     "a: &a [x]\nb: &b [*a, *a]\nkind: Event\ninvolvedObject: *b\n"],
)  # fmt: skip
def test_objects_of_other_kinds_raise_nothing(text: str) -> None:
    """What is no event gives none."""
    assert [] == read_as("kubernetes_events", text).events


def test_cgroup_figures_are_those_of_cadvisor() -> None:
    """Counters of two snapshots, each at the time before it, in cAdvisor's names and units."""
    found = sample("cgroup")
    assert {
        "container_cpu_usage_seconds_total": 5.0,
        "container_cpu_cfs_periods_total": 120,
        "container_cpu_cfs_throttled_periods_total": 23,
        "container_cpu_cfs_throttled_seconds_total": 0.012345,
        "container_pressure_cpu_waiting_seconds_total": 2.5,
        "container_oom_events_total": 1,
    } == found.figures()
    assert [100, 120] == [value for name, value, _ in found.points if name == "container_cpu_cfs_periods_total"]


def test_a_pressure_that_may_be_anybodys_is_named() -> None:
    """The lines of cpu, memory and io pressure look alike: without a name nothing is taken."""
    line = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"
    unknown = read_as("cgroup_stat", line, "1796010000.txt")
    assert ([], [1]) == (unknown.points, [problem.line for problem in unknown.problems])
    memory = read_as("cgroup_stat", line, "memory.pressure.1796010000")
    assert {"container_pressure_memory_waiting_seconds_total": 2.5} == memory.figures()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("vllm.cpu.stat.1796010000", "rag.cpu.stat.1796010000"),
        ("1796010000-cpu.stat-vllm", "1796010000-cpu.stat-rag"),
        ("docker-0a1b.scope_cpu.stat_2026-11-30T03:30:00Z.txt", "docker-0a2b.scope_cpu.stat_2026-11-30T03:30:00Z.txt"),
    ],
)
def test_containers_of_one_folder_are_series_of_their_own(first: str, second: str) -> None:
    """The name beside that of the figures tells whose they are: counters of two would cancel each other."""
    text = "nr_periods 120\nnr_throttled 23\n"
    groups = [{told["cgroup"] for _, _, told in read_as("cgroup_stat", text, name).points} for name in (first, second)]
    assert (1, 1, True) == (len(groups[0]), len(groups[1]), groups[0].isdisjoint(groups[1]))


@pytest.mark.parametrize("name", ["cpu.stat.1796010000", "1796010000", "cpu.stat-2026-11-30T03:30:00Z.txt"])
def test_snapshots_of_one_container_stay_one_series(name: str) -> None:
    """A time in the name is no container."""
    assert [{}, {}] == [told for *_, told in read_as("cgroup_stat", "nr_periods 120\nnr_throttled 23\n", name).points]


def test_paths_between_the_figures_tell_whose_they_are() -> None:
    """As `tail` and `grep` print several files after one another."""
    text = "==> /sys/fs/cgroup/{}/cpu.stat <==\nnr_throttled {}\n"
    found = read_as("cgroup_stat", "1796010000\n" + text.format("a", 3) + text.format("b", 9))
    assert [("sys/fs/cgroup/a", 3), ("sys/fs/cgroup/b", 9)] == [
        (told["cgroup"], value) for _, value, told in found.points
    ]


def test_the_whole_machines_counters_are_no_cgroup() -> None:
    """`/proc/vmstat` has an `oom_kill` among a hundred names of others."""
    text = "nr_free_pages 123\nnr_zone_inactive_anon 5\npgpgin 7\noom_kill 1\n"
    assert 0.0 == cgroup_stat.accepts(source(text))
    assert 0 < cgroup_stat.accepts(source("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"))


def test_a_cgroup_file_without_time_has_its_files() -> None:
    """One problem says that the modification time stands in."""
    text = CGROUP.partition("\n")[2].partition("2026")[0]
    written = Source("cpu.stat", text.encode(), source(text).open, AT)
    found = told(cgroup_stat.read(written, Options()))
    assert (4, ["bad_time"]) == (len(found.points), [problem.kind for problem in found.problems])


def test_stacks_are_shares_of_samples() -> None:
    """Under each frame, itself or in a callee; recursion counts once."""
    shares = {(name, told_.get("frame")): value for name, value, told_ in sample("1796009540.stacks").points}
    assert (105.0, 90 / 105, 1.0) == (
        shares["profile.samples", None],
        shares["profile.self_share", "matmul"],
        shares["profile.total_share", "main"],
    )
    twice = read_as("folded_stacks", STACKS.replace("run;step", "main;main"), "1796009540")
    assert 1.0 == max(value for name, value, _ in twice.points if name == "profile.total_share")


def test_stacks_are_bounded() -> None:
    """Of many frames those with most samples are told."""
    text = "".join(f"main;f{index} {index + 1}\n" for index in range(500))
    found = read_as("folded_stacks", text, "1796009540")
    assert 50 == sum(name == "profile.self_share" for name, _, _ in found.points)
    assert "f499" in {told_.get("frame") for _, _, told_ in found.points}


def test_a_response_with_a_latency_is_a_span() -> None:
    """Tokens, cache, finish reason and first token under the names of the conventions."""
    first = min(sample("usage").spans, key=lambda span: span.start_time_unix_nano)
    assert (1796009485 * 10**9, 1_500_000_000) == (
        first.start_time_unix_nano, first.end_time_unix_nano - first.start_time_unix_nano,
    )  # fmt: skip
    _, told_ = next((span, attrs) for span, attrs in spans(sample("usage")) if span is first or span == first)
    assert {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.response.finish_reasons": "length",
        "gen_ai.response.time_to_first_chunk": 0.2,
    }.items() <= told_.items()


def spans(found: Told) -> list[tuple[Any, dict[str, Any]]]:
    return [(span, attributes(span)) for span in found.spans]


def test_a_request_log_that_failed_is_a_failed_span() -> None:
    """Its error is the message."""
    assert ["busy"] == [span.status.message for span in sample("usage").spans if span.status.code == 2]


def test_a_response_without_latency_gives_its_tokens_only() -> None:
    """No request of zero length is made up; the problem says what is missing."""
    found = read_as("openai_usage", json.dumps(RESPONSE) + "\n")
    assert [("gen_ai.client.token.usage", 100.0, "input"), ("gen_ai.client.token.usage", 20.0, "output")] == [
        (name, value, told_["gen_ai.token.type"]) for name, value, told_ in found.points
    ]
    assert ([], ["unsupported"]) == (found.spans, [problem.kind for problem in found.problems])


@pytest.mark.parametrize("field", ["latency", "duration", "elapsed", "response_time", "total_time"])
def test_a_latency_without_a_unit_is_not_believed(field: str) -> None:
    """812.4 may be seconds or milliseconds: only tokens are used, and it is said once a file, with the count."""
    found = read_as("openai_usage", f"{json.dumps({**RESPONSE, field: 812.4, 'ttft': 3})}\n" * 3)
    assert ([], 6) == (found.spans, len(found.points))
    assert [(field, 3), (None, 3)] == [(problem.field, problem.count) for problem in found.problems]


@pytest.mark.parametrize(("field", "value"), [("latency_ms", 1500), ("elapsed_seconds", 1.5), ("_response_ms", 1500)])
def test_a_latency_with_a_unit_is_believed(field: str, value: float) -> None:
    """Also beside one without."""
    found = read_as("openai_usage", json.dumps({**RESPONSE, field: value, "latency": 3}))
    assert [1_500_000_000] == [span.end_time_unix_nano - span.start_time_unix_nano for span in found.spans]


def test_a_latency_between_two_times_needs_no_unit() -> None:
    """Begin and end as times are as good as a duration."""
    times = {"start_time": "2026-11-30T03:31:30Z", "end_time": "2026-11-30T03:31:32Z"}
    assert 1 == len(read_as("openai_usage", json.dumps({**times, "response": RESPONSE, "latency": 2})).spans)


def test_bad_lines_among_responses_are_named() -> None:
    """A broken line, one that is no response and one without a time: each by its line, the rest is read."""
    good = json.dumps({**RESPONSE, "latency_s": 1})
    no_time = json.dumps({"usage": {"prompt_tokens": 1}, "latency_s": 1})
    found = read_as("openai_usage", f'{good}\n{good[:40]}\n{{"foo": 1, "time": 1796009485}}\n{no_time}\n{good}\n')
    assert (2, [2, 3, 4]) == (len(found.spans), sorted(problem.line or 0 for problem in found.problems))
