/* A library with NVML's interface whose answers come from a file that tests rewrite while it is used.
 *
 * NVML_STANDIN names the file. A line is `Name[.device] value`: a number, `error N`, or `hang`. A device's line is
 * looked for first. What has no line is not supported (3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { int number; } device;
static device devices[16];
static int registered[16];

static int find(const char *name, int number, char *answer, size_t size)
{
    char wanted[2][96], line[512], key[96];
    int best = 2;
    const char *path = getenv("NVML_STANDIN");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return 0;
    snprintf(wanted[0], sizeof wanted[0], "%s.%d", name, number);
    snprintf(wanted[1], sizeof wanted[1], "%s", name);
    while (fgets(line, sizeof line, file)) {
        char *rest = line;
        size_t length = strcspn(line, " \n");
        if (length >= sizeof key)
            continue;
        memcpy(key, line, length);
        key[length] = 0;
        rest += length;
        rest += strspn(rest, " ");
        rest[strcspn(rest, "\n")] = 0;
        for (int i = 0; i < best; i++)
            if (!strcmp(key, wanted[i])) {
                snprintf(answer, size, "%s", rest);
                best = i;
            }
    }
    fclose(file);
    return best < 2;
}

/* 0 with the answer, or an error; never returns while the answer is `hang` */
static int ask(const char *name, const device *of, char *answer, size_t size)
{
    for (;;) {
        if (!find(name, of ? of->number : -1, answer, size))
            return 3;
        if (strcmp(answer, "hang"))
            break;
        usleep(20000);
    }
    if (!strncmp(answer, "error ", 6))
        return atoi(answer + 6);
    return 0;
}

static int number(const char *name, const device *of, double *value)
{
    char answer[256];
    int error = ask(name, of, answer, sizeof answer);
    if (!error)
        *value = atof(answer);
    return error;
}

#define GET(name, type)                                   \
    int nvmlDeviceGet##name(device *of, type *value)      \
    {                                                     \
        double found;                                     \
        int error = number(#name, of, &found);            \
        if (!error)                                       \
            *value = (type)found;                         \
        return error;                                     \
    }

#define GET_OF(name, type)                                              \
    int nvmlDeviceGet##name(device *of, unsigned which, type *value)    \
    {                                                                   \
        char key[96];                                                   \
        double found;                                                   \
        snprintf(key, sizeof key, #name "%u", which);                   \
        int error = number(key, of, &found);                            \
        if (!error)                                                     \
            *value = (type)found;                                       \
        return error;                                                   \
    }

GET(PowerUsage, unsigned)
GET(EnforcedPowerLimit, unsigned)
GET(FanSpeed, unsigned)
GET(PerformanceState, unsigned)
GET(TotalEnergyConsumption, unsigned long long)
GET(CurrentClocksEventReasons, unsigned long long)
GET(MaxMigDeviceCount, unsigned)
GET_OF(Temperature, unsigned)
GET_OF(ClockInfo, unsigned)
GET_OF(PcieThroughput, unsigned)

const char *nvmlErrorString(int error) { return error == 15 ? "GPU is lost" : "an error"; }
int nvmlShutdown(void) { return 0; }

static int init(void)
{
    char answer[256];
    int error = ask("Init", NULL, answer, sizeof answer);
    return error == 3 ? 0 : error;
}
int nvmlInit_v2(void) { return init(); }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return init(); }

int nvmlDeviceGetCount_v2(unsigned *count)
{
    double found;
    int error = number("Count", NULL, &found);
    if (!error)
        *count = (unsigned)found;
    return error;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **of)
{
    double found;
    devices[index].number = (int)index;
    *of = &devices[index];
    return number("Lost", *of, &found) == 0 ? 15 : 0;
}

static int text(const char *name, device *of, char *value, unsigned size)
{
    char answer[256];
    int error = ask(name, of, answer, sizeof answer);
    if (!error)
        snprintf(value, size, "%s", answer);
    return error;
}
int nvmlDeviceGetUUID(device *of, char *value, unsigned size) { return text("UUID", of, value, size); }
int nvmlDeviceGetName(device *of, char *value, unsigned size) { return text("Name", of, value, size); }

int nvmlDeviceGetMigMode(device *of, unsigned *now, unsigned *pending)
{
    double found;
    int error = number("MigMode", of, &found);
    if (!error)
        *now = *pending = (unsigned)found;
    return error;
}

/* an instance I of device D is device 10 D + I + 4 of the file */
int nvmlDeviceGetMigDeviceHandleByIndex(device *of, unsigned index, device **instance)
{
    int at = 10 * of->number + (int)index + 4;
    char answer[64];
    if (at >= 16)
        return 6;
    devices[at].number = at;
    *instance = &devices[at];
    return ask("UUID", *instance, answer, sizeof answer) || !strstr(answer, "MIG") ? 6 : 0;
}

int nvmlDeviceGetUtilizationRates(device *of, unsigned *rates)
{
    double gpu, memory = 0;
    int error = number("Util", of, &gpu);
    if (error)
        return error;
    number("MemUtil", of, &memory);
    rates[0] = (unsigned)gpu;
    rates[1] = (unsigned)memory;
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(device *of, unsigned long long *memory)
{
    double used, total;
    int error = number("MemUsed", of, &used);
    if (!error)
        error = number("MemTotal", of, &total);
    if (error)
        return error;
    memory[1] = (unsigned long long)total; /* version, total, reserved, free, used */
    memory[2] = 0;
    memory[3] = memory[1] - (unsigned long long)used;
    memory[4] = (unsigned long long)used;
    return 0;
}

int nvmlDeviceGetTotalEccErrors(device *of, unsigned kind, unsigned since, unsigned long long *count)
{
    double found;
    int error = number(kind ? "EccUncorrected" : "EccCorrected", of, &found);
    (void)since;
    if (!error)
        *count = (unsigned long long)found;
    return error;
}

typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process;
int nvmlDeviceGetComputeRunningProcesses_v3(device *of, unsigned *count, process *found)
{
    char answer[256], *at = answer;
    unsigned n = 0, room = found ? *count : 0;
    int error = ask("Processes", of, answer, sizeof answer);
    if (error)
        return error;
    for (char *word = strtok_r(answer, ",", &at); word; word = strtok_r(NULL, ",", &at), n++) {
        if (n < room) {
            found[n].pid = (unsigned)atoi(word);
            found[n].used = strchr(word, '=') ? strtoull(strchr(word, '=') + 1, NULL, 10) : ~0ULL;
        }
    }
    *count = n;
    return n > room ? 7 : 0;
}

typedef struct { unsigned pid; unsigned long long at; unsigned sm, mem, enc, dec; } share;
int nvmlDeviceGetProcessUtilization(device *of, share *found, unsigned *count, unsigned long long since)
{
    char answer[256];
    int error = ask("ProcessUtil", of, answer, sizeof answer);
    if (error)
        return error;
    if (!found || *count < 1) {
        *count = 1;
        return 7;
    }
    *count = 1;
    found[0].pid = (unsigned)atoi(answer);
    found[0].at = since + 1000;
    found[0].sm = (unsigned)atoi(strchr(answer, '=') + 1);
    return 0;
}

int nvmlEventSetCreate(void **set) { *set = devices; return 0; }
int nvmlDeviceRegisterEvents(device *of, unsigned long long types, void *set)
{
    double found;
    (void)types, (void)set;
    registered[of->number] = 1;
    return number("Xid", of, &found);
}

typedef struct { device *of; unsigned long long type, number; unsigned gpu, compute; } event;
int nvmlEventSetWait_v2(void *set, event *told, unsigned wait_ms)
{
    static double before[4];
    (void)set;
    for (unsigned waited = 0; waited < wait_ms; waited += 20) {
        for (int i = 0; i < 4; i++) {
            double found;
            int error = registered[i] ? number("Xid", &devices[i], &found) : 3;
            if (error && error != 3)
                return error;
            if (registered[i] && number("Xid", &devices[i], &found) == 0 && found != before[i]) {
                before[i] = found;
                told->of = &devices[i];
                told->type = 8;
                told->number = (unsigned long long)found;
                return 0;
            }
        }
        usleep(20000);
    }
    return 10;
}
