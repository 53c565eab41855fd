"""Decoys: something happened, or nothing, and nothing is wrong."""

from __future__ import annotations

from benchmarks.lab.engine_faults import MEASURED
from benchmarks.lab.world import CALM, Scenario, scenario


def healthy(severity: float) -> Scenario:
    """Nothing happens."""
    return scenario("healthy", CALM, CALM, truth="none")


def healthy_restart(severity: float) -> Scenario:
    """A restart with the same flags."""
    return scenario("healthy_restart", CALM, CALM, truth="none", restart=True)


def healthy_new_version(severity: float) -> Scenario:
    """A new version of the service, no better and no worse."""
    return scenario("healthy_new_version", CALM, CALM.with_(client={"version": "1.1.0"}), truth="none")


def healthy_slower_machine(severity: float) -> Scenario:
    """A machine slower by a fifth, as neighbouring windows of the recordings are."""
    return scenario("healthy_slower_machine", CALM, CALM.with_(speed=1 + 0.2 * severity), truth="none")


def healthy_faster(severity: float) -> Scenario:
    """The second window is the faster one."""
    return scenario("healthy_faster", CALM, CALM.with_(speed=1 / (1 + 0.5 * severity)), truth="none")


def healthy_drift(severity: float) -> Scenario:
    """A fifth more requests, which the engine has room for."""
    return scenario("healthy_drift", CALM, CALM.with_(load={"rate": 2.9 * (1 + 0.2 * severity)}), truth="none")


def healthy_gpu(severity: float) -> Scenario:
    """Nothing happens, and a GPU is measured as well."""
    return scenario("healthy_gpu", MEASURED, MEASURED, truth="none")


HEALTHY = (
    healthy, healthy_restart, healthy_new_version, healthy_slower_machine, healthy_faster, healthy_drift,
    healthy_gpu,
)  # fmt: skip
