// Hand-written saves of GPU memory, for save.sh: each line on standard input is KIND FILE THREADS, each answer is seconds.
//
//   save BYTES
//
// cached, direct: threads with two pinned slabs each, CUDA copies one while pwrite empties the other; through the page cache
//                 or with O_DIRECT. fallocate first; fdatasync, rename and fsync of the folder last.
// plain:          O_DIRECT writes from pinned host memory, as many, without a GPU: what the disk gives.
// link:           copies from the GPU to pinned host memory: what the link gives.
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#define PROGRAM "save"
#include "common.h"

#define MOST_THREADS 64

static CUcontext context;
static CUdeviceptr device;
static size_t bytes;
static char *slabs[MOST_THREADS][2], *whole;
static CUstream streams[MOST_THREADS];
static CUevent events[MOST_THREADS][2];
static atomic_size_t next;
static int fd, from_host;

static size_t length(size_t at) { return bytes - at < PIECE ? bytes - at : PIECE; }

static void *writer(void *argument) {
    size_t t = (size_t)argument, at = atomic_fetch_add(&next, PIECE), before = 0;
    int slab = 0, pending = 0;
    CU(cuCtxSetCurrent(context));
    while (at < bytes || pending) {
        if (at < bytes && !from_host) {
            CU(cuMemcpyDtoHAsync(slabs[t][slab], device + at, length(at), streams[t]));
            CU(cuEventRecord(events[t][slab], streams[t]));
        }
        if (pending) {
            if (!from_host) CU(cuEventSynchronize(events[t][!slab]));
            transfer(1, fd, slabs[t][!slab], length(before), before);
        }
        pending = at < bytes;
        before = at;
        slab = !slab;
        if (at < bytes) at = atomic_fetch_add(&next, PIECE);
    }
    return 0;
}

static double save(const char *kind, const char *path, int threads) {
    char temporary[4096], folder[4096];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    snprintf(folder, sizeof folder, "%s", path);
    from_host = !strcmp(kind, "plain");
    unlink(path);
    double start = now();
    fd = open(temporary, O_CREAT | O_TRUNC | O_WRONLY | (strcmp(kind, "cached") ? O_DIRECT : 0), 0666);
    if (fd < 0) die(temporary, 0);
    if (fallocate(fd, 0, 0, bytes)) die("fallocate", 0);
    pthread_t ids[MOST_THREADS];
    atomic_store(&next, 0);
    for (size_t t = 0; t < (size_t)threads; t++) pthread_create(&ids[t], 0, writer, (void *)t);
    for (int t = 0; t < threads; t++) pthread_join(ids[t], 0);
    if (fdatasync(fd)) die("fdatasync", 0);
    close(fd);
    if (rename(temporary, path)) die("rename", 0);
    int parent = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    if (parent < 0 || fsync(parent)) die("fsync of the folder", 0);
    close(parent);
    return now() - start;
}

static double copy_all(void) {
    if (!whole) whole = pinned_memory(bytes);
    double start = now();
    CU(cuMemcpyDtoHAsync(whole, device, bytes, streams[0]));
    CU(cuStreamSynchronize(streams[0]));
    return now() - start;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    bytes = strtoull(arguments[1], 0, 10) & ~(size_t)4095;
    CUdevice gpu;
    CU(cuInit(0));
    CU(cuDeviceGet(&gpu, 0));
    CU(cuDevicePrimaryCtxRetain(&context, gpu));
    CU(cuCtxSetCurrent(context));
    CU(cuMemAlloc(&device, bytes));
    CU(cuMemsetD8(device, 7, bytes));
    for (int t = 0; t < MOST_THREADS; t++) {
        CU(cuStreamCreate(&streams[t], CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 2; i++) {
            slabs[t][i] = pinned_memory(PIECE);
            CU(cuEventCreate(&events[t][i], CU_EVENT_DISABLE_TIMING));
        }
    }
    char kind[32], path[4000];
    int threads;
    while (scanf("%31s %3999s %d", kind, path, &threads) == 3) {
        if (threads < 1 || threads > MOST_THREADS) return 2;
        printf("%.6f\n", strcmp(kind, "link") ? save(kind, path, threads) : copy_all());
        fflush(stdout);
    }
    return 0;
}
