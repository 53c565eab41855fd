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
