"""The prediction that failures come at one age: a timer's, not the work's."""

from __future__ import annotations

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._frames import too_few_blocks, untestable
from hypotheses._limits import LOOSE, SPREAD


def end_at_one_age(failure: Signal, age: Signal) -> Test:
    """Requests of the incident that failed so all took nearly the same time, longer than half of the answers do."""

    def read(evidence: Evidence) -> Reading:
        rows = evidence.numbers[0]
        missing = tuple(s.name for s in (failure, age) if s.name not in rows)
        if missing:
            return untestable(missing)
        failed = rows[(rows[failure.name] > 0) & (rows["period"] == INCIDENT)]
        usual = rows.loc[(rows["period"] == BASELINE) & ~(rows[failure.name] > 0), age.name].median()
        if failed["block"].nunique() < MIN_BLOCKS:
            return too_few_blocks(failed["block"].nunique())
        middle, longest = (float(failed[age.name].quantile(q)) for q in (0.5, 0.95))
        text = f"they ended after {middle:.3g} s (p95 {longest:.3g} s), answers took {usual:.3g} s (median)"
        held, loose = longest <= SPREAD * middle and middle > usual, longest > LOOSE * middle or middle < usual / 2
        outcome = Outcome.HELD if held else Outcome.FAILED if loose else Outcome.INCONCLUSIVE
        return Reading(outcome, text, None, None, failed["block"].nunique())

    return Test(f"requests with {failure.name} all end at one age", read, (failure, age))
