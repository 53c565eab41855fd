"""What serves is tied to GPUs by what both name, never to those of another machine."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.join.connect import CONNECT, ONLY_HOST, Attributes, Tie, machines, said, same, ties

HOSTS, PODS = ["gpu-7", "gpu-8", "gpu-9.west.example"], ["vllm-0", "vllm-1"]


def tie(instance: Attributes, **devices: Attributes) -> Tie:
    """The tie of one instance that serves alone."""
    return tied([instance], devices)[0]


def tied(instances: list[Attributes], devices: dict[str, Attributes]) -> list[Tie]:
    return ties([said(CONNECT, [one]) for one in instances], {d: said(CONNECT, [its]) for d, its in devices.items()})


@pytest.mark.parametrize(
    ("instance", "device", "by"),
    [
        ({"host.name": "gpu-7"}, {"host.name": "gpu-7"}, "host.name (gpu-7)"),
        ({"host.name": "GPU-7.west.example"}, {"Hostname": "gpu-7"}, "host.name ~ Hostname (gpu-7)"),
        ({"k8s.node.name": "n1", "host.name": "p", "k8s.pod.name": "p"}, {"node": "n1"}, "k8s.node.name ~ node (n1)"),
        ({"k8s.pod.name": "p"}, {"exported_pod": "p", "pod": "dcgm-x"}, "k8s.pod.name ~ exported_pod (p)"),
        ({"k8s.pod.uid": "0a"}, {"pod_uid": "0a"}, "k8s.pod.uid ~ pod_uid (0a)"),
        ({"hw.id": "GPU-a"}, {"UUID": "GPU-a"}, "hw.id ~ UUID (gpu-a)"),
        ({"service.instance.id": "t:8002"}, {"service.instance.id": "t:8002"}, "service.instance.id (t:8002)"),
    ],
)  # fmt: skip
def test_conventions_meet(instance: Attributes, device: Attributes, by: str) -> None:
    """Each side names a thing by its own convention; the tie says both names and the value."""
    assert Tie(("d",), by, specific="host.name" not in by and "node" not in by) == tie(
        instance, d=device, other={"host.name": "elsewhere"}
    )


def test_a_pod_of_the_same_name_in_another_namespace_is_another_pod() -> None:
    """`vllm-0` is what the first pod of every StatefulSet called vllm is named."""
    instance = {"k8s.namespace.name": "a", "k8s.pod.name": "vllm-0"}
    found = tie(
        instance,
        ours={"namespace": "a", "pod": "vllm-0", "Hostname": "n1"},
        others={"namespace": "b", "pod": "vllm-0", "Hostname": "n2"},
    )
    assert ("ours",) == found.devices


def test_the_most_specific_attribute_decides() -> None:
    """On a machine with several GPUs the pod's GPU is tied and not the others."""
    instance = {"k8s.pod.name": "vllm-0", "k8s.node.name": "n1"}
    assert ("a",) == tie(instance, a={"pod": "vllm-0", "Hostname": "n1"}, b={"pod": "", "Hostname": "n1"}).devices


def test_a_gpu_that_another_pod_names_is_not_shared_by_the_machine() -> None:
    """A pod without a GPU of its own does not get those of its neighbours."""
    neighbour, without = {"k8s.pod.name": "vllm-0", "k8s.node.name": "n1"}, {"k8s.node.name": "n1"}
    first, second = tied([neighbour, without], {"a": {"pod": "vllm-0", "Hostname": "n1"}})
    assert ("a",) == first.devices
    assert Tie(reason="others that serve on its machine name all GPUs there as theirs") == second


def test_a_pod_on_two_machines_is_two_pods() -> None:
    """A name that several machines know, and no namespace to tell them apart, ties to neither."""
    found = tie({"k8s.pod.name": "p"}, a={"pod": "p", "node": "n1"}, b={"pod": "p", "node": "n2"})
    assert Tie(reason="k8s.pod.name ~ pod (p) is named on several machines: n1, n2") == found


def test_the_exporters_own_pod_is_nobodys() -> None:
    """Where `pod` is that of the exporter the machine still connects."""
    found = tie({"k8s.pod.name": "vllm-0", "k8s.node.name": "n1"}, a={"pod": "dcgm-exporter-x", "Hostname": "n1"})
    assert (("a",), False) == (found.devices, found.specific)


def test_the_only_host_connects_by_itself() -> None:
    """Engine spans without a host, GPUs on one machine: there is no other that could serve."""
    assert Tie(("a", "b"), ONLY_HOST) == tie({}, a={"Hostname": "n1"}, b={"Hostname": "n1.west"})
    assert Tie(("a",), ONLY_HOST) == tie({"host.name": "n1"}, a={"gpu": "0"})


def test_a_name_that_every_machine_has_is_no_name() -> None:
    """Localhost, and a container's own id for its host, say nothing of the machine."""
    for name in ("localhost", "127.0.0.1", "0f1e2d3c4b5a"):
        assert ONLY_HOST == tie({"host.name": name}, a={"Hostname": "n1"}).by
    local = {"service.instance.id": "localhost:8000"}
    assert () == tie(local, a={**local, "node": "n1"}, b={"node": "n2"}).devices


def test_nothing_is_guessed_between_machines() -> None:
    """Two machines with GPUs and an engine that names none: no tie, and the reason names them."""
    reason = "GPUs were seen on gpu-7, gpu-8, and it does not name its machine, pod or GPU"
    assert Tie(reason=reason) == tie({"service.name": "vllm"}, a={"Hostname": "gpu-7"}, b={"Hostname": "gpu-8"})


def test_another_machine_is_not_the_only_one() -> None:
    """One machine with GPUs does not serve for an engine that names another."""
    reason = "it names the machine gpu-9, GPUs were seen on gpu-7"
    assert Tie(reason=reason) == tie({"host.name": "gpu-9"}, a={"Hostname": "gpu-7"})


def test_unnamed_gpus_are_nobodys_where_several_machines_serve() -> None:
    """GPUs that name no machine may be on either."""
    first, second = tied([{"host.name": "n1"}, {"host.name": "n2"}], {"a": {"gpu": "0"}})
    assert ((), ()) == (first.devices, second.devices)
    assert first.reason == "several machines serve, and it is not said which of them has GPUs: n1, n2"


instances = st.fixed_dictionaries({}, optional={
    "host.name": st.sampled_from([*HOSTS, "localhost"]), "k8s.pod.name": st.sampled_from(PODS),
    "container.id": st.sampled_from(["c1", "c2"]), "service.instance.id": st.sampled_from(["i:1", "localhost:1"]),
})  # fmt: skip
gpus = st.fixed_dictionaries({}, optional={
    "Hostname": st.sampled_from(HOSTS), "pod": st.sampled_from(PODS), "container.id": st.sampled_from(["c1", "c2"]),
    "service.instance.id": st.sampled_from(["i:1", "localhost:1"]), "UUID": st.sampled_from(["u1", "u2"]),
})  # fmt: skip


@given(st.lists(instances, max_size=4), st.lists(gpus, max_size=4))
def test_ties_never_join_across_machines(serving: list[Attributes], found: list[Attributes]) -> None:
    """Whatever is named: no tie between two machines, each tie has its reason, each untied one too."""
    devices = {str(i): one for i, one in enumerate(found)}
    for instance, its in zip(serving, tied(serving, devices), strict=True):
        host = instance.get("host.name", "localhost")
        assert bool(its.devices) != bool(its.reason) and bool(its.devices) == bool(its.by)
        named = {devices[d].get("Hostname") for d in its.devices} - {None}
        assert host == "localhost" or named <= {host}
        assert len(named) <= 1


names = st.text(string.ascii_lowercase + ".-", min_size=1, max_size=6)


@given(names, names)
def test_sameness_has_no_direction(one: str, other: str) -> None:
    """Which side leaves out the domain does not matter."""
    assert same(one, other) == same(other, one)
    assert same(one, one)


@given(st.lists(st.sampled_from([*HOSTS, "gpu-9", "a.b.c", "a.b", "a"]), max_size=6), st.randoms())
def test_machines_do_not_depend_on_the_order(hosts: list[str], random: object) -> None:
    """The short and the long name of a machine count as one, in whatever order they come."""
    spoken = [said(CONNECT, [{"host.name": host}]) for host in hosts]
    assert machines(spoken) == machines(reversed(spoken))
    assert set(hosts) == {name for machine in machines(spoken) for name in machine}
