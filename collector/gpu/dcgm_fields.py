"""NVIDIA DCGM fields: id, name, the tag that `dcgmi dmon` prints, unit and meaning.

Names and scales are crossed in places: GPU_UTIL is a percentage under both its names, FB_USED_PERCENT a share;
sizes are MiB; field 449 and the profiling traffic are rates, whatever a scraped type line says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, NumberDataPoint

PREFIX = "DCGM_FI_"
FIRST_PROFILING_ID = 1001
_INT32_BLANK, _FP64_BLANK, _INT64_BLANK = 0x7FFFFFF0, 2.0**47, 0x7FFFFFFFFFFFFFF0
_BLANKS = tuple(blank + error for blank in (_INT32_BLANK, _FP64_BLANK) for error in range(4))

Kind = Literal["gauge", "sum"]


@dataclass(frozen=True, slots=True)
class DcgmField:
    """One field. `name` is the one in use before DCGM 4.6, `later` the one since; a `sum` only grows."""

    id: int
    name: str
    tag: str
    unit: str
    meaning: str
    kind: Kind = "gauge"
    later: str = ""


_F = DcgmField
FIELDS = (
    _F(100, "DEV_SM_CLOCK", "SMCLK", "MHz", "SM clock"),
    _F(101, "DEV_MEM_CLOCK", "MMCLK", "MHz", "memory clock"),
    _F(112, "DEV_CLOCK_THROTTLE_REASONS", "DVCCTR", "", "bits: why clocks are lowered",
       later="DEV_CLOCKS_EVENT_REASONS"),
    _F(140, "DEV_MEMORY_TEMP", "MMTMP", "Cel", "memory temperature", later="DEV_MEMORY_TEMP_CELSIUS"),
    _F(150, "DEV_GPU_TEMP", "TMPTR", "Cel", "GPU temperature", later="DEV_GPU_TEMP_CELSIUS"),
    _F(155, "DEV_POWER_USAGE", "POWER", "W", "board power, averaged", later="DEV_BOARD_POWER_WATTS"),
    _F(156, "DEV_TOTAL_ENERGY_CONSUMPTION", "TOTEC", "mJ", "energy since the driver was loaded", "sum"),
    _F(157, "DEV_POWER_USAGE_INSTANT", "POWINST", "W", "board power at this moment", later="DEV_BOARD_POWER_RAW_WATTS"),
    _F(160, "DEV_POWER_MGMT_LIMIT", "PMLMT", "W", "power limit asked", later="DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS"),
    _F(164, "DEV_ENFORCED_POWER_LIMIT", "EPLMT", "W", "power limit", later="DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"),
    _F(200, "DEV_PCIE_TX_THROUGHPUT", "TXTPT", "kBy/s", "PCIe, GPU to host"),
    _F(201, "DEV_PCIE_RX_THROUGHPUT", "RXTPT", "kBy/s", "PCIe, host to GPU"),
    _F(202, "DEV_PCIE_REPLAY_COUNTER", "RPCTR", "{event}", "PCIe replays", "sum", "DEV_PCIE_REPLAY_TOTAL"),
    _F(203, "DEV_GPU_UTIL", "GPUTL", "%", "share of time with any kernel running", later="DEV_GPU_UTIL_RATIO"),
    _F(204, "DEV_MEM_COPY_UTIL", "MCUTL", "%", "share of time memory was read or written"),
    _F(206, "DEV_ENC_UTIL", "ECUTL", "%", "encoder utilization"),
    _F(207, "DEV_DEC_UTIL", "DCUTL", "%", "decoder utilization"),
    _F(230, "DEV_XID_ERRORS", "XIDER", "", "code of the last Xid, 0 if none", later="DEV_XID_ERROR"),
    _F(240, "DEV_POWER_VIOLATION", "PVIOL", "", "time throttled by power; ns, or us before DCGM 4", "sum"),
    _F(241, "DEV_THERMAL_VIOLATION", "TVIOL", "", "time throttled by heat; ns, or us before DCGM 4", "sum"),
    _F(250, "DEV_FB_TOTAL", "FBTTL", "MiBy", "memory, all"),
    _F(251, "DEV_FB_FREE", "FBFRE", "MiBy", "memory, free"),
    _F(252, "DEV_FB_USED", "FBUSD", "MiBy", "memory, used"),
    _F(253, "DEV_FB_RESERVED", "FBRSV", "MiBy", "memory, reserved"),
    _F(254, "DEV_FB_USED_PERCENT", "FBUSP", "1", "memory used over what is not reserved", later="DEV_FB_USED_RATIO"),
    _F(310, "DEV_ECC_SBE_VOL_TOTAL", "ESVTL", "{error}", "single-bit errors since driver load", "sum"),
    _F(311, "DEV_ECC_DBE_VOL_TOTAL", "EDVTL", "{error}", "double-bit errors since driver load", "sum"),
    _F(312, "DEV_ECC_SBE_AGG_TOTAL", "ESATL", "{error}", "single-bit errors of the device's life", "sum"),
    _F(313, "DEV_ECC_DBE_AGG_TOTAL", "EDATL", "{error}", "double-bit errors of the device's life", "sum"),
    _F(393, "DEV_UNCORRECTABLE_REMAPPED_ROWS", "URMPS", "{row}", "rows remapped after uncorrectable errors", "sum",
       "DEV_ROW_REMAP_UNCORRECTABLE_TOTAL"),
    _F(394, "DEV_CORRECTABLE_REMAPPED_ROWS", "CRMPS", "{row}", "rows remapped after correctable errors", "sum",
       "DEV_ROW_REMAP_CORRECTABLE_TOTAL"),
    _F(395, "DEV_ROW_REMAP_FAILURE", "RRF", "1", "1 where remapping failed", later="DEV_ROW_REMAP_FAILED"),
    _F(449, "DEV_NVLINK_BANDWIDTH_TOTAL", "NBWLT", "MBy/s", "NVLink, both directions, payload",
       later="DEV_NVLINK_THROUGHPUT_TOTAL"),
    _F(1001, "PROF_GR_ENGINE_ACTIVE", "GRACT", "1", "share of time the graphics or compute engine was busy",
       later="PROF_GR_ENGINE_UTIL_RATIO"),
    _F(1002, "PROF_SM_ACTIVE", "SMACT", "1", "share of cycles an SM had a warp assigned", later="PROF_SM_UTIL_RATIO"),
    _F(1003, "PROF_SM_OCCUPANCY", "SMOCC", "1", "resident warps over the most possible",
       later="PROF_SM_OCCUPANCY_RATIO"),
    _F(1004, "PROF_PIPE_TENSOR_ACTIVE", "TENSO", "1", "tensor pipe active", later="PROF_TENSOR_UTIL_RATIO"),
    _F(1005, "PROF_DRAM_ACTIVE", "DRAMA", "1", "memory interface active", later="PROF_DRAM_UTIL_RATIO"),
    _F(1006, "PROF_PIPE_FP64_ACTIVE", "FP64A", "1", "FP64 pipe active", later="PROF_FP64_UTIL_RATIO"),
    _F(1007, "PROF_PIPE_FP32_ACTIVE", "FP32A", "1", "FP32 pipe active", later="PROF_FP32_UTIL_RATIO"),
    _F(1008, "PROF_PIPE_FP16_ACTIVE", "FP16A", "1", "FP16 pipe active", later="PROF_FP16_UTIL_RATIO"),
    _F(1009, "PROF_PCIE_TX_BYTES", "PCITX", "By/s", "PCIe, GPU to host"),
    _F(1010, "PROF_PCIE_RX_BYTES", "PCIRX", "By/s", "PCIe, host to GPU"),
    _F(1011, "PROF_NVLINK_TX_BYTES", "NVLTX", "By/s", "NVLink, sent"),
    _F(1012, "PROF_NVLINK_RX_BYTES", "NVLRX", "By/s", "NVLink, received"),
    _F(1013, "PROF_PIPE_TENSOR_IMMA_ACTIVE", "TIMMA", "1", "tensor pipe active on integers",
       later="PROF_IMMA_UTIL_RATIO"),
    _F(1014, "PROF_PIPE_TENSOR_HMMA_ACTIVE", "THMMA", "1", "tensor pipe active on half floats",
       later="PROF_HMMA_UTIL_RATIO"),
)  # fmt: skip
BY_ID = {field.id: field for field in FIELDS}
BY_TAG = {field.tag: field for field in FIELDS}
_BY_NAME = {PREFIX + name: field for field in FIELDS for name in (field.name, field.later) if name}


def is_blank(value: float) -> bool:
    """Does DCGM say with this number that it has none (not found, not supported, no permission)?"""
    return value in _BLANKS or value >= _INT64_BLANK


def as_meant(metric: Metric) -> Metric | None:
    """A scraped metric with the kind and unit that its DCGM field has, without blank values; others as they are."""
    if not metric.name.startswith(PREFIX) or metric.WhichOneof("data") not in ("gauge", "sum"):
        return metric
    points = [p for p in (*metric.gauge.data_points, *metric.sum.data_points) if not is_blank(p.as_double)]
    if not points:
        return None
    known = _BY_NAME.get(metric.name)
    kind: Kind = known.kind if known else "sum" if metric.HasField("sum") else "gauge"
    return dcgm_metric(metric.name, kind, known.unit if known else metric.unit, metric.description, points)


def dcgm_metric(name: str, kind: Kind, unit: str, description: str, points: list[NumberDataPoint]) -> Metric:
    """A metric of this kind; a sum is cumulative and only grows."""
    metric = Metric(name=name, unit=unit, description=description)
    if kind == "sum":
        metric.sum.is_monotonic = True
        metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    (metric.sum if kind == "sum" else metric.gauge).data_points.extend(points)
    return metric
