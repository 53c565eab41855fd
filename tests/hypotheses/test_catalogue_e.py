"""Causes in the answers found in files: cut at their limit, whatever the finish reason says."""

from pathlib import Path

import numpy as np
import pytest

from correlator.model.findings import Verdict
from tests.correlator.join.telemetry import Span
from tests.hypotheses.bundles import around, diagnosed, of, request, supported, written


def answering(reason: str, cut: float, limit: int, fails: str = ""):  # type: ignore[no-untyped-def]
    """Answers of about fifty tokens; in the incident a share ends at the lowered limit, told as this reason."""

    def made(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
        room = limit if ill else 256
        short = ill and rng.random() < cut
        tokens = room if short else int(min(around(rng, 20), room - 1))
        told = {
            "gen_ai.response.finish_reasons": reason if short else "stop",
            "gen_ai.request.max_tokens": room,
            "gen_ai.usage.output_tokens": tokens,
        }
        failed = bool(fails) and short
        return request(trace, start, around(rng, 0.3), model=told, failed=failed, message=fails if failed else "")

    return made


@pytest.mark.parametrize("reason", ["length", "tool_calls", "stop"])
def test_answers_cut_at_their_limit_are_seen_whatever_the_reason_says(tmp_path: Path, reason: str) -> None:
    """As many tokens as were allowed is an answer that was cut, though an adapter relabels it."""
    assert {"output_truncation"} == supported(diagnosed(written(tmp_path, answering(reason, 0.4, 40))))


def test_unreadable_answers_are_blamed_on_the_cut(tmp_path: Path) -> None:
    """Parse errors of exactly those answers that ended at the limit."""
    text = "Unterminated string starting at: line 1 column 14 (char 13)"
    assert {"output_truncation"} == supported(diagnosed(written(tmp_path, answering("length", 0.4, 40, fails=text))))


def test_unreadable_answers_that_were_not_cut_are_not(tmp_path: Path) -> None:
    """Parse errors with whole answers have another cause."""

    def made(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
        failed = ill and rng.random() < 0.4
        told = {"gen_ai.response.finish_reasons": "stop", "gen_ai.request.max_tokens": 256}
        text = "Expecting ',' delimiter: line 1 column 9 (char 8)" if failed else ""
        return request(trace, start, around(rng, 0.3), model=told, failed=failed, message=text)

    assert Verdict.REFUTED == of(diagnosed(written(tmp_path, made)), "output_truncation").verdict
