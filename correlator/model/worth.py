"""The smallest changes worth naming: what makes a symptom, and what a prediction calls ill or spared."""

from __future__ import annotations

LATENCY_RATIO = 1.3
"""Two healthy neighbouring windows of 70 s on a shared machine differed by up to 23 % in mean latency."""
PICKED_RATIO = 1.5
"""Smallest ratio of times worth naming in a stretch of time, or a service, that was picked because it stands out.
Simulated healthy services whose speed drifts by 15 % (autocorrelation 0.7) were accused in 18 % of five-minute
recordings at 1.3, in 2 % at 1.5."""
SPARED_RATIO = 1.15
"""A group whose latency moved less than this is spared: half (in logarithm) of what makes a symptom."""
ERROR_SHARE = 0.02
"""Two requests in a hundred: the usual alert level of an availability SLO of 99.9 % at a burn rate of 20."""
QUALITY_SHARE = 0.05
"""One answer in twenty: users retry and rephrase a few of a hundred anyway."""
LOST_SHARE = 0.05
"""One in twenty lost may be all of the slowest: the 95th percentile, and so the tail, is no longer known."""
ENDLESS = 1e9
"""Stands for an end that the interval of a ratio does not have; 1 / ENDLESS for zero."""
