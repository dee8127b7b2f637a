// Plain reads of parts of a file into buffers that take turns, as a loader must have them: prints bytes per second. gds io fills one
// buffer again and again, which stays in the processor's caches.
//   ring FILE BYTES MEMORY THREADS SECONDS order|random [direct]
// Each thread has its share of the memory. Reads for that time, after a second that does not count, or each part once if it is 0.
#define _GNU_SOURCE
#define PROGRAM "ring"
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#define BLOCK ((size_t)4096)
#define WARM_UP 1.0
static size_t bytes, slot, parts, file_bytes;
static int slots, fd, direct;
static double seconds;
static uint32_t *part;
static atomic_size_t next, counted;
static atomic_int counts, ends;

static void *reader(void *memory) {
    for (int i = 0; !ends; i = (i + 1) % slots) {
        size_t n = atomic_fetch_add(&next, 1);
        if (n >= parts && seconds == 0) break;
        size_t at = part[n % parts] * bytes, end = at + bytes;
        if (direct) {
            at = at / BLOCK * BLOCK;
            end = (end + BLOCK - 1) / BLOCK * BLOCK;
            if (end > file_bytes) end = file_bytes / BLOCK * BLOCK;
        }
        transfer(0, fd, (char *)memory + i * slot, end - at, at);
        if (counts) atomic_fetch_add(&counted, bytes);
    }
    return NULL;
}

int main(int n, char **arguments) {
    if (n < 7) die("usage: ring FILE BYTES MEMORY THREADS SECONDS order|random [direct]", 2);
    bytes = strtoull(arguments[2], 0, 10);
    int threads = atoi(arguments[4]);
    size_t share = strtoull(arguments[3], 0, 10) / threads;
    seconds = atof(arguments[5]);
    direct = n > 7;
    fd = open(arguments[1], O_RDONLY | (direct ? O_DIRECT : 0));
    struct stat status;
    if (fd < 0 || fstat(fd, &status)) die(arguments[1], 0);
    file_bytes = status.st_size;
    parts = file_bytes / bytes;
    slot = (bytes + 3 * BLOCK - 1) / BLOCK * BLOCK; // for the blocks around a part
    slots = share / slot > 0 ? share / slot : 1;
    part = malloc(parts * sizeof *part);
    if (!part || !parts) die("parts", 0);
    for (size_t i = 0; i < parts; i++) part[i] = i;
    srandom(1);
    for (size_t i = parts - 1; i > 0 && !strcmp(arguments[6], "random"); i--) {
        size_t other = random() % (i + 1);
        uint32_t moved = part[i];
        part[i] = part[other];
        part[other] = moved;
    }
    char *memory = host_memory(threads * slots * slot);
    memset(memory, 1, threads * slots * slot);
    pthread_t thread[threads];
    counts = seconds == 0;
    double start = now();
    for (int t = 0; t < threads; t++) pthread_create(&thread[t], 0, reader, memory + t * slots * slot);
    if (seconds > 0) {
        usleep(WARM_UP * 1e6);
        start = now();
        counts = 1;
        usleep(seconds * 1e6);
        counts = 0;
        ends = 1;
    }
    double end = now();
    for (int t = 0; t < threads; t++) pthread_join(thread[t], 0);
    if (seconds == 0) end = now();
    printf("%.0f\n", counted / (end - start));
    return 0;
}
