"""What holds of every reader of a format: it takes its own files and no other's, whatever they are wrapped in, and
nothing in them makes it give up."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.files._registry import readers
from tests.collector.files.log_reading import source
from tests.collector.files.samples import SAMPLES, Told, read_as, sample
from tests.collector.files.support import json_lines, read_bytes, span, traces
from tests.collector.files.vllm_lines import LINE

OLDER = {
    "vllm_log": f"{LINE}\n",
    "otlp_json": json_lines(traces(span())).decode(),
    "prometheus": "# TYPE jobs counter\njobs_total 5 1796000000\n",
    "app_log": "2026-11-30 05:06:07,123 ERROR app: upstream refused\n2026-11-30 05:06:08,123 INFO app: ready\n",
    "yearless_log": "Nov 30 05:06:07 host app[3]: ready\nNov 30 05:06:08 host app[3]: gone\n",
}
OURS = sorted(SAMPLES)
LOGS = ["1796009540.llamacpp", "access", "dmesg", "nccl", "ollama", "otelcol", "sglang", "tgi"]


def surest(text: str) -> list[str]:
    """Readers that accept a text best."""
    scores = {reader.id: reader.accepts(source(text)) for reader in readers()}
    return [name for name, score in scores.items() if score == max(scores.values())]


@pytest.mark.parametrize("name", OURS)
def test_the_right_reader_is_surest_of_a_sample(name: str) -> None:
    """No reader takes what another knows better."""
    reader, text = SAMPLES[name]
    assert [reader] == surest(text)


@pytest.mark.parametrize("reader", sorted(OLDER))
def test_no_reader_takes_what_was_read_before(reader: str) -> None:
    """Files of the general formats stay with their readers."""
    assert [reader] == surest(OLDER[reader])


@pytest.mark.parametrize("name", OURS)
def test_a_sample_is_read_without_a_problem(name: str) -> None:
    """The unharmed samples give records and no problem, so that mutilating them means something."""
    found = sample(name)
    assert [] == found.problems
    assert found.logs or found.points or found.spans


def essence(found: Told) -> tuple[object, ...]:
    """What must be the same however a log is wrapped: happenings, settings, figures, spans; times aside."""
    spans = sorted((one.name, one.end_time_unix_nano - one.start_time_unix_nano) for one in found.spans)
    return sorted(found.happened()), found.facts, sorted(map(str, found.points)), spans


def broken(text: str) -> str:
    lines = ([line[at : at + 90] for at in range(0, len(line), 90)] for line in text.splitlines())
    return "\n".join(piece for pieces in lines for piece in pieces)


FORMS = {
    "fenced": lambda text: f"```\n{text}\n```\n",
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "of a pod": lambda text: "".join(f"[pod/a-1/main] {line}\n" for line in text.splitlines()),
    "coloured": lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
    "broken at 90": broken,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("name", LOGS)
def test_a_pasted_log_says_the_same(name: str, form: str) -> None:
    """Fenced, quoted, prefixed, coloured or broken over lines: the same reader, and the same evidence."""
    reader, text = SAMPLES[name]
    pasted = FORMS[form](text)
    assert [reader] == surest(pasted)
    assert essence(sample(name)) == essence(read_as(reader, pasted, name, near="2026-11-30 03:30:00"))


@pytest.mark.parametrize("name", LOGS)
@given(data=st.data())
@settings(max_examples=8)
def test_a_log_cut_at_both_ends_invents_nothing(name: str, data: st.DataObject) -> None:
    """Half lines at either end give no happening and no setting that the whole has not."""
    reader, text = SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    whole, part = sample(name), read_as(reader, text[start:stop], name, near="2026-11-30 03:30:00")
    assert set(part.happened()) - {"error"} <= set(whole.happened())
    assert len(part.spans) <= len(whole.spans)


@pytest.mark.parametrize("reader", sorted({reader for reader, _ in SAMPLES.values()}))
def test_a_line_that_never_ends_costs_little(reader: str) -> None:
    """No pattern goes back and forth over a long line: a second of the processor for 30 KiB is far too much."""
    (first, *_) = (text.splitlines()[0] for name, text in SAMPLES.values() if name == reader)
    for piece in ("a;b ", "a:1", '"', "mce:", '{"a":', "> ", "1m", "  x"):
        began = time.process_time()
        read_as(reader, f"{first[:90]} {piece * 15_000}"[:30_000], "1796009540.x")
        assert time.process_time() - began < 1


@given(name=st.sampled_from(OURS), data=st.data())
@settings(max_examples=150)
def test_mutilated_samples(name: str, data: st.DataObject) -> None:
    """With pieces cut out, doubled or overwritten every reader ends, and says or names something."""
    changed = bytearray(SAMPLES[name][1].encode())
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(changed)))
        stop = data.draw(st.integers(start, min(len(changed), start + 60)))
        changed[start:stop] = data.draw(st.binary(max_size=6) | st.just(bytes(changed[start:stop] * 2)))
    batches, problems = read_bytes(bytes(changed), "1796009540.x")
    assert batches or problems
    assert [] == [problem for problem in problems if "gave up" in problem.reason]


@pytest.mark.parametrize("reader", sorted({reader for reader, _ in SAMPLES.values()}))
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
@settings(max_examples=25)
def test_any_bytes_at_any_reader(reader: str, content: bytes) -> None:
    """A reader that is given what is not its own raises nothing and tells of no happening."""
    assert [] == read_as(reader, content, "1796009540.x").happened()
