"""`python -m tests.cases [C019 …]`: what is said of each report, the shares that hold, and what chance would give."""

from __future__ import annotations

import sys

from tests.cases.collected import by_chance, reports, summary
from tests.cases.report import answer

answers = []
for report in reports():
    if not sys.argv[1:] or report.id in sys.argv[1:]:
        found = answer(report)
        answers.append(found)
        first = ", ".join(f"{f.hypothesis} {f.verdict} {f.probability:.2f}" for f in found.causes[:3])
        print(f"{report.id:6} {'holds' if found.holds else 'FAILS'} {report.cause or 'nobody':27} {first}", flush=True)
if not sys.argv[1:]:
    print(summary(answers))
    print(f"the answers of other reports would hold for {by_chance(answers):.0%}")
