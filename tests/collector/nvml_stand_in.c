/* A small libnvidia-ml.so.1 for tests. What it plays stands in the file named by NVML_STAND_IN, read at each call:
 *
 *   gpus N                  number of GPUs
 *   mig G N                 GPU G is in MIG mode with N devices, in every second slot
 *   fail FUNCTION G CODE    the function fails with CODE on GPU G; "*" is every function, G -1 every GPU
 *   field ID G CODE         one field value fails
 *   process G PID BYTES SM  a process on GPU G, its memory and SM percentage
 *   xid N G CODE            the Nth Xid (from 1), on GPU G; -1 is a GPU nobody knows
 *
 * Each failure is noted as a line "FUNCTION G" in the file with ".calls" appended to its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS 8
#define SLOTS 8
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define TIMEOUT 10

typedef unsigned long long u64;
typedef struct { int gpu, slot; } Device; /* slot -1: the GPU itself */
typedef struct { u64 total, free, used; } Memory;
typedef struct { unsigned version; u64 total, reserved, free, used; } Memory2;
typedef struct { unsigned gpu, memory; } Rates;
typedef struct { unsigned pid; u64 used; unsigned gi, ci; } Process;
typedef struct { unsigned pid; u64 time; unsigned sm, mem, enc, dec; } ProcessSample;
typedef struct { unsigned id, scope; long long time, latency; int type, error; union { double d; unsigned u; u64 ull; } value; } Field;
typedef struct { Device *device; u64 type, data; unsigned gi, ci; } Event;

static Device gpus[GPUS], slots[GPUS][SLOTS];
static int xids_told, opened;

static FILE *script(void) {
    const char *path = getenv("NVML_STAND_IN");
    return path ? fopen(path, "r") : NULL;
}

/* The numbers behind the first line that begins with `word` and, if given, this GPU. Returns how many there are. */
static int line(const char *word, int gpu, long long *out, int nth) {
    char text[256], first[64];
    FILE *file = script();
    int found = 0;
    while (file && !found && fgets(text, sizeof text, file)) {
        long long n[4] = {0, 0, 0, 0};
        int got = sscanf(text, "%63s %lld %lld %lld %lld", first, &n[0], &n[1], &n[2], &n[3]) - 1;
        if (got > 0 && !strcmp(first, word) && (gpu < 0 || n[0] == gpu) && nth-- == 0) {
            memcpy(out, n, sizeof n);
            found = got;
        }
    }
    if (file) fclose(file);
    return found;
}

static void note(const char *function, int gpu) {
    char path[512];
    snprintf(path, sizeof path, "%s.calls", getenv("NVML_STAND_IN"));
    FILE *file = fopen(path, "a");
    if (file) fprintf(file, "%s %d\n", function, gpu), fclose(file);
}

static int fault(const char *function, int gpu) {
    char text[256], name[64];
    int on, code, found = 0;
    FILE *file = script();
    if (!file) return 9; /* no script, no driver */
    while (!found && fgets(text, sizeof text, file))
        if (sscanf(text, "fail %63s %d %d", name, &on, &code) == 3)
            if ((!strcmp(name, function) || (!strcmp(name, "*") && gpu >= 0)) && (on == gpu || on == -1)) found = code;
    fclose(file);
    if (found) note(function, gpu);
    return found;
}

#define CHECK(gpu) do { int code = opened ? fault(__func__, gpu) : 1; if (code) return code; } while (0)
#define GIVE(name, type, value) int name(Device *d, type *out) { CHECK(d->gpu); *out = value; return 0; }

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = fault(__func__, -1);
    if (!code) opened++;
    return code;
}
int nvmlShutdown(void) { if (!opened) return 1; opened--; return 0; }
const char *nvmlErrorString(int code) { (void)code; return "error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { CHECK(-1); snprintf(out, size, "600.1"); return 0; }

int nvmlDeviceGetCount_v2(unsigned *out) {
    long long n[4] = {0};
    CHECK(-1);
    line("gpus", -1, n, 0);
    *out = (unsigned)n[0];
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
    CHECK((int)index);
    gpus[index] = (Device){(int)index, -1};
    *out = &gpus[index];
    return 0;
}
int nvmlDeviceGetUUID(Device *d, char *out, unsigned size) {
    CHECK(d->gpu);
    if (d->slot < 0) snprintf(out, size, "GPU-%d", d->gpu);
    else snprintf(out, size, "MIG-%d-%d", d->gpu, d->slot);
    return 0;
}
int nvmlDeviceGetName(Device *d, char *out, unsigned size) {
    CHECK(d->gpu);
    snprintf(out, size, d->slot < 0 ? "Stand-in 80GB" : "Stand-in 80GB MIG 1g.10gb");
    return 0;
}

int nvmlDeviceGetMemoryInfo(Device *d, Memory *out) {
    CHECK(d->gpu);
    *out = (Memory){1000, 500, 500};
    return 0;
}
int nvmlDeviceGetMemoryInfo_v2(Device *d, Memory2 *out) {
    CHECK(d->gpu);
    if (out->version != (sizeof(Memory2) | 2u << 24)) return 25;
    *out = d->slot < 0 ? (Memory2){out->version, 1000, 200, 400, 400} : (Memory2){out->version, 100, 0, 75, 25};
    return 0;
}
int nvmlDeviceGetUtilizationRates(Device *d, Rates *out) {
    CHECK(d->gpu);
    *out = (Rates){97, 40};
    return 0;
}
int nvmlDeviceGetClockInfo(Device *d, int kind, unsigned *out) { CHECK(d->gpu); *out = kind == 1 ? 1980 : 2619; return 0; }
GIVE(nvmlDeviceGetPowerUsage, unsigned, 642118)
GIVE(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000)
GIVE(nvmlDeviceGetTotalEnergyConsumption, u64, 5000500)
GIVE(nvmlDeviceGetCurrentClocksEventReasons, u64, 0x4 | 0x40)
int nvmlDeviceGetTemperature(Device *d, int sensor, unsigned *out) { (void)sensor; CHECK(d->gpu); *out = 73; return 0; }
int nvmlDeviceGetTotalEccErrors(Device *d, int type, int counter, u64 *out) {
    (void)counter;
    CHECK(d->gpu);
    *out = type == 0 ? 5 : 1;
    return 0;
}
int nvmlDeviceGetPcieThroughput(Device *d, int counter, unsigned *out) { CHECK(d->gpu); *out = counter == 0 ? 30 : 70; return 0; }

int nvmlDeviceGetFieldValues(Device *d, int count, Field *fields) {
    CHECK(d->gpu);
    for (int i = 0; i < count; i++) {
        long long n[4];
        fields[i].error = 0;
        fields[i].type = 3;
        fields[i].value.ull = fields[i].id;
        for (int nth = 0; line("field", (int)fields[i].id, n, nth); nth++)
            if (n[1] == d->gpu || n[1] == -1) fields[i].error = (int)n[2], note("field", d->gpu);
        if (fields[i].id >= 138 && fields[i].id <= 139 && fields[i].scope != 0xFFFFFFFF) fields[i].error = 2;
        if (fields[i].id == 82) fields[i].type = 1, fields[i].value.u = 66;
    }
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *count, Process *out) {
    long long n[4], mig[4];
    unsigned found = 0, room = *count;
    CHECK(d->gpu);
    for (; line("process", d->gpu, n, (int)found); found++)
        if (out && found < room) {
            u64 used = n[2] < 0 ? ~0ull : (u64)n[2];
            unsigned instance = line("mig", d->gpu, mig, 0) ? 1 : 0xFFFFFFFF;
            out[found] = (Process){(unsigned)n[1], used, instance, instance};
        }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : 0;
}
int nvmlDeviceGetProcessUtilization(Device *d, ProcessSample *out, unsigned *count, u64 since) {
    static u64 now = 1000;
    long long n[4];
    unsigned found = 0, room = *count;
    (void)since;
    CHECK(d->gpu);
    now += 7;
    for (; line("process", d->gpu, n, (int)found); found++)
        if (out && found < room) out[found] = (ProcessSample){(unsigned)n[1], now, (unsigned)n[3], 0, 0, 0};
    *count = found;
    if (!found) return NOT_FOUND;
    return found > room || !out ? INSUFFICIENT_SIZE : 0;
}

int nvmlDeviceGetMigMode(Device *d, unsigned *current, unsigned *pending) {
    long long n[4];
    CHECK(d->gpu);
    *current = *pending = line("mig", d->gpu, n, 0) ? 1 : 0;
    return 0;
}
GIVE(nvmlDeviceGetMaxMigDeviceCount, unsigned, SLOTS)
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned slot, Device **out) {
    long long n[4];
    CHECK(d->gpu);
    if (slot % 2 || !line("mig", d->gpu, n, 0) || slot / 2 >= n[1]) return NOT_FOUND;
    slots[d->gpu][slot] = (Device){d->gpu, (int)slot};
    *out = &slots[d->gpu][slot];
    return 0;
}
GIVE(nvmlDeviceGetGpuInstanceId, unsigned, (unsigned)d->slot + 7)
GIVE(nvmlDeviceGetComputeInstanceId, unsigned, 0)

int nvmlEventSetCreate(void **out) { CHECK(-1); *out = &xids_told; return 0; }
int nvmlDeviceRegisterEvents(Device *d, u64 types, void *set) { CHECK(d->gpu); return set == &xids_told && types == 8 ? 0 : 2; }
int nvmlEventSetFree(void *set) { return set == &xids_told ? 0 : 2; }
int nvmlEventSetWait_v2(void *set, Event *out, unsigned timeout_ms) {
    long long n[4];
    if (set != &xids_told) return 2;
    CHECK(-1);
    for (;; usleep(2000)) {
        if (line("xid", xids_told + 1, n, 0)) {
            xids_told++;
            *out = (Event){n[1] < 0 ? NULL : &gpus[n[1]], 8, (u64)n[2], 0xFFFFFFFF, 0xFFFFFFFF};
            return 0;
        }
        if (timeout_ms < 2) return TIMEOUT;
        timeout_ms -= 2;
    }
}
