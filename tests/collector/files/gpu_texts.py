"""What GPU tools print, written by hand after their documented formats."""

from __future__ import annotations

T0 = 1_741_284_000_000_000_000
"""2025-03-06 18:00:00 UTC."""
UUID = "GPU-11111111-2222-3333-4444-555555555555"

QUERY = f"""timestamp, uuid, index, clocks_event_reasons.hw_slowdown, memory.total [MiB], memory.reserved [MiB], \
memory.used [MiB], utilization.gpu [%], power.draw [W], clocks.current.sm [MHz], fan.speed [%]
2025/03/06 18:00:00.500, {UUID}, 0, Not Active, 81559 MiB, 559 MiB, 40500 MiB, 97 %, 512.25 W, 1980 MHz, [N/A]
2025/03/06 18:00:01.500, {UUID}, 0, Active, 81559 MiB, 559 MiB, 40500 MiB, [Not Supported], 300.00 W, 1200 MHz, [N/A]
"""

APPS = f"""timestamp, pid, process_name, used_gpu_memory [MiB], gpu_uuid
2025/03/06 18:00:00.500, 4242, python3 -c a, b, 40000 MiB, {UUID}
2025/03/06 18:00:00.500, 4243, tritonserver, 400 MiB, {UUID}
"""

TABLE = """Thu Mar  6 18:00:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
| N/A   41C    P0            482W /  700W |   60355MiB /  81559MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:3B:00.0 Off |                    0 |
| N/A   30C    P0             70W /  700W |       4MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      4242      C   /usr/bin/python3                            60346MiB |
+-----------------------------------------------------------------------------------------+
"""

REPORT = """
==============NVSMI LOG==============

Timestamp                                 : Thu Mar  6 18:00:00 2025
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:19:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    MIG Mode
        Current                           : Disabled
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 559 MiB
        Used                              : 40500 MiB
        Free                              : 40500 MiB
    Utilization
        Gpu                               : 97 %
        Memory                            : N/A
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 2
            SRAM Uncorrectable SEC-DED    : 3
            DRAM Correctable              : 4
            DRAM Uncorrectable            : 5
        Aggregate
            DRAM Uncorrectable            : 99
    Temperature
        GPU Current Temp                  : 41 C
        GPU Shutdown Temp                 : 90 C
    GPU Power Readings
        Average Power Draw                : 482.10 W
        Current Power Limit               : 700.00 W
    Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4242
            Type                          : C
            Name                          : /usr/bin/python3
            Used GPU Memory               : 40000 MiB
"""

XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Thu Mar  6 18:00:00 2025</timestamp>
  <driver_version>550.54.15</driver_version>
  <gpu id="00000000:19:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <uuid>GPU-11111111-2222-3333-4444-555555555555</uuid>
    <fb_memory_usage><total>81559 MiB</total><reserved>559 MiB</reserved><used>40500 MiB</used></fb_memory_usage>
    <clocks_event_reasons>
      <clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
      <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
    </clocks_event_reasons>
    <utilization><gpu_util>97 %</gpu_util><memory_util>N/A</memory_util></utilization>
    <temperature><gpu_temp>41 C</gpu_temp></temperature>
    <gpu_power_readings><power_draw>482.10 W</power_draw></gpu_power_readings>
    <clocks><sm_clock>1980 MHz</sm_clock></clocks>
    <processes><process_info><pid>4242</pid><used_memory>40000 MiB</used_memory></process_info></processes>
  </gpu>
</nvidia_smi_log>
"""

DMON = """#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol     fb  rxpci
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz      %   bool     MB   MB/s
 20250306   18:00:00      0    482     41     56     97     60   2619   1980     50      1  40500     14
 20250306   18:00:01      0    300      -      -      0      0   2619   1200      0      0  40500      0
"""

PMON = """# gpu        pid  type    sm   mem   enc   dec   jpg   ofa    fb   ccpm  command
# Idx          #   C/G     %     %     %     %     %     %    MB     MB  name
    0       4242     C    80    30     -     -     -     -  40000      0  python3 serve it
    1          -     -     -     -     -     -     -     -      -      -  -
"""

DCGMI = """#Entity   GPUTL      SMACT     DRAMA
ID
GPU 0     97         0.912     0.431
GPU 1     0          N/A       0.000
GPU 0     98         0.915     0.432
"""

BENCH = (
    '{"date": "20250306-180101", "backend": "openai", "num_prompts": 2000, "request_rate": "inf", "duration": 60.5, '
    '"completed": 2000, "output_throughput": 9555.5, "request_throughput": 32.6, "mean_ttft_ms": 16998.0, '
    '"mean_tpot_ms": 31.7, "median_tpot_ms": 33.0, "std_tpot_ms": 5.4, "p99_tpot_ms": 41.8}'
)
