"""Hypotheses for people: the list, and one in full."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from correlator.model.errors import InputError
from hypotheses import Hypothesis
from hypotheses._registry import all_hypotheses


def describe_all(console: Console) -> None:
    """A table of ids, the kinds of symptom they explain, and their claims."""
    table = Table("hypothesis", "explains", "claim", box=None, pad_edge=False)
    for hypothesis in all_hypotheses():
        table.add_row(hypothesis.id, ", ".join(sorted(hypothesis.explains)), hypothesis.claim)
    console.print(table)


def describe_one(id_: str, console: Console) -> None:
    """Claim, predictions and what follows; raises InputError for an unknown id."""
    known = {h.id: h for h in all_hypotheses()}
    if id_ not in known:
        raise InputError(f"no hypothesis {id_}; known: {', '.join(known)}")
    for line in lines(known[id_]):
        console.print(line, markup=False, highlight=False)


def lines(hypothesis: Hypothesis) -> list[str]:
    """One hypothesis as plain lines."""
    out = [hypothesis.id, "", hypothesis.claim, f"Explains: {', '.join(sorted(hypothesis.explains))}", ""]
    for title, wanted in (("Refuted if one of these fails", True), ("Told from its rivals by", False)):
        chosen = [p for p in hypothesis.predictions if p.necessary is wanted]
        if chosen:
            out += [f"{title}:", *(f"  {p.id}: {p.test.statement}" for p in chosen), ""]
    if hypothesis.rivals:
        out.append(f"Rivals: {', '.join(hypothesis.rivals)}")
    if hypothesis.upstream_of:
        out.append(f"Can bring about: {', '.join(hypothesis.upstream_of)}")
    if (experiment := hypothesis.experiment) is not None:
        out += [f"Experiment: {experiment.why}", f"  {experiment.command}", f"  expect: {experiment.expect}"]
    return [*out, f"Remedy: {hypothesis.remedy}"]


def described(hypothesis: Hypothesis) -> dict[str, object]:
    """One hypothesis as a plain object, as the API shows it."""
    experiment = hypothesis.experiment
    return {
        "id": hypothesis.id,
        "claim": hypothesis.claim,
        "explains": sorted(hypothesis.explains),
        "predictions": [
            {
                "id": p.id,
                "statement": p.test.statement,
                "necessary": p.necessary,
                "signals": [signal.name for signal in p.test.signals],
            }
            for p in hypothesis.predictions
        ],
        "rivals": list(hypothesis.rivals),
        "upstream_of": list(hypothesis.upstream_of),
        "experiment": experiment and {n: getattr(experiment, n) for n in ("id", "why", "command", "expect")},
        "remedy": hypothesis.remedy,
    }


def reference() -> str:
    """All hypotheses as one Markdown page (docs/hypotheses.md)."""
    head = ["# Hypotheses", "", "Generated from the values in `hypotheses/` by `make docs`; do not edit.", ""]
    return "\n".join(head + [line for h in all_hypotheses() for line in _section(h)])


def _section(hypothesis: Hypothesis) -> list[str]:
    out = [f"## {hypothesis.id}", "", f"**{hypothesis.claim}**", ""]
    out += [f"Explains: {', '.join(sorted(hypothesis.explains))}.", ""]
    for title, wanted in (("Refuted if one of these fails", True), ("Told from its rivals by", False)):
        rows = [f"- `{p.id}`: {p.test.statement}" for p in hypothesis.predictions if p.necessary is wanted]
        out += [f"{title}:", "", *rows, ""] if rows else []
    signals = sorted({s.name for p in hypothesis.predictions for s in p.test.signals})
    out += [f"Signals: {', '.join(f'`{s}`' for s in signals)}.", ""] if signals else []
    if hypothesis.rivals:
        out += [f"Rivals: {', '.join(f'`{r}`' for r in hypothesis.rivals)}.", ""]
    if hypothesis.upstream_of:
        out += [f"Can bring about: {', '.join(f'`{u}`' for u in hypothesis.upstream_of)}.", ""]
    if (experiment := hypothesis.experiment) is not None:
        out += [
            f"Experiment: {experiment.why} Expect: {experiment.expect}.",
            "",
            "```sh",
            experiment.command,
            "```",
            "",
        ]
    return [*out, f"Remedy: {hypothesis.remedy}", ""]


if __name__ == "__main__":
    print(reference())
