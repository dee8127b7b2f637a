/* A profiler that knows NVTX 3: it logs what it is told, for tests. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    int64_t payload;
    int32_t message_type;
    const char *message;
} attributes;
typedef struct {
    size_t size;
    int (*module_table)(int module, function ***table, unsigned *count);
} callbacks;
typedef struct {
    size_t size;
    uint32_t version, reserved;
    void (*tool_version)(uint32_t version);
} version_info;

static char log_text[1 << 20];
static size_t used;
static uint64_t ranges;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define LOG(...) do { \
    pthread_mutex_lock(&lock); \
    if (used < sizeof log_text - 1024) used += (size_t)snprintf(log_text + used, 1024, __VA_ARGS__); \
    pthread_mutex_unlock(&lock); \
} while (0)

const char *nvtx_log(void) {
    return log_text;
}

static void save(void) {
    const char *path = getenv("NVTX_TEST_LOG");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fputs(log_text, file);
        fclose(file);
    }
}

static void *domain_create(const char *name) {
    LOG("domain %s\n", name);
    return strdup(name);
}

static void *register_string(void *domain, const char *text) {
    (void)domain;
    return strdup(text);
}

static void name_category(void *domain, uint32_t category, const char *name) {
    LOG("category %s %" PRIu32 " %s\n", (char *)domain, category, name);
}

static void describe(const char *what, void *domain, const attributes *a) {
    LOG("%s %s|%s|category %" PRIu32 "|payload %" PRId64 " of type %d|message %d|version %d size %d\n", what, (char *)domain,
        a->message, a->category, a->payload, a->payload_type, a->message_type, a->version, a->size);
}

static uint64_t range_start(void *domain, const attributes *a) {
    describe("start", domain, a);
    return __sync_add_and_fetch(&ranges, 1);
}

static void range_end(void *domain, uint64_t id) {
    LOG("end %s %" PRIu64 "\n", (char *)domain, id);
}

static int range_push(void *domain, const attributes *a) {
    describe("push", domain, a);
    return 0;
}

static int range_pop(void *domain) {
    LOG("pop %s\n", (char *)domain);
    return 0;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const callbacks *table = export_table(1);
    const version_info *version = export_table(3);
    function **slots = NULL;
    unsigned count = 0;
    if (!table || table->size < sizeof(callbacks) || !version || version->version != 3 || export_table(99)) return 0;
    version->tool_version(3);
    if (table->module_table(0, &slots, &count) || table->module_table(7, &slots, &count)) return 0;
    if (!table->module_table(1, &slots, &count) || count != 16) return 0;
    if (!table->module_table(5, &slots, &count) || count != 16 || slots[0] || slots[16]) return 0;
    *slots[2] = (function)range_start;
    *slots[3] = (function)range_end;
    *slots[4] = (function)range_push;
    *slots[5] = (function)range_pop;
    *slots[8] = (function)name_category;
#ifndef WITHOUT_STRINGS
    *slots[10] = (function)register_string;
#endif
    *slots[12] = (function)domain_create;
    atexit(save);
    return 1;
}
