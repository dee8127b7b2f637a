// A file in memory to several GPUs at once, written by hand; gpus.sh sets gds io beside it.
//
//   build: gcc -O2 -pthread gpus.c -o gpus -lcuda
//   run:   gpus FILE GPUS BYTES_PER_GPU THREADS_PER_GPU PASSES      prints GB/s of all GPUs together, medians:
//          copies     from pinned memory alone
//          pipeline   threads of each GPU claim pieces of 4 MiB of its part of the file: pread into one of two pinned slabs,
//                     asynchronous copy
#define _GNU_SOURCE
#define PROGRAM "gpus"
#include <cuda.h>
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#define SLABS 2
#define MOST_GPUS 8
#define MOST_THREADS 128
#define COPIES 40
#define COPIED ((size_t)256 << 20)

static int gpus, threads, fd;
static size_t bytes;
static CUcontext context[MOST_GPUS];
static CUdeviceptr device[MOST_GPUS];
static char *pinned[MOST_GPUS];
static atomic_size_t next[MOST_GPUS];

static void *copies(void *argument) {
    long gpu = (long)argument;
    CUstream stream;
    CU(cuCtxSetCurrent(context[gpu]));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < COPIES; i++) CU(cuMemcpyHtoDAsync(device[gpu], pinned[gpu], COPIED, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuStreamDestroy(stream));
    return 0;
}

static void *pipeline(void *argument) {
    long gpu = (long)argument / threads, id = (long)argument % threads;
    char *slabs = pinned[gpu] + id * SLABS * PIECE;
    CUstream stream;
    CUevent done[SLABS];
    CU(cuCtxSetCurrent(context[gpu]));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < SLABS; i++) CU(cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    for (long k = 0;; k++) {
        size_t at = atomic_fetch_add(&next[gpu], PIECE);
        if (at >= bytes) break;
        size_t length = at + PIECE <= bytes ? PIECE : bytes - at;
        int slot = k % SLABS;
        if (k >= SLABS) CU(cuEventSynchronize(done[slot]));
        transfer(0, fd, slabs + slot * PIECE, length, gpu * bytes + at);
        CU(cuMemcpyHtoDAsync(device[gpu] + at, slabs + slot * PIECE, length, stream));
        CU(cuEventRecord(done[slot], stream));
    }
    CU(cuStreamSynchronize(stream));
    for (int i = 0; i < SLABS; i++) CU(cuEventDestroy(done[i]));
    CU(cuStreamDestroy(stream));
    return 0;
}

static double seconds(void *(*work)(void *), int count) {
    pthread_t all[MOST_THREADS];
    for (int g = 0; g < gpus; g++) next[g] = 0;
    double began = now();
    for (long i = 0; i < count; i++)
        if (pthread_create(&all[i], 0, work, (void *)i)) die("pthread_create", 0);
    for (int i = 0; i < count; i++) pthread_join(all[i], 0);
    return now() - began;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(void *(*work)(void *), int count, int passes) {
    double took[passes];
    seconds(work, count);
    for (int i = 0; i < passes; i++) took[i] = seconds(work, count);
    qsort(took, passes, sizeof *took, ascending);
    return took[passes / 2];
}

int main(int count, char **words) {
    if (count != 6) {
        fprintf(stderr, "usage: gpus FILE GPUS BYTES_PER_GPU THREADS_PER_GPU PASSES\n");
        return 2;
    }
    gpus = atoi(words[2]), bytes = strtoull(words[3], 0, 10), threads = atoi(words[4]);
    int passes = atoi(words[5]), found;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&found));
    if (gpus < 1 || gpus > found || gpus > MOST_GPUS || threads < 1 || gpus * threads > MOST_THREADS || passes < 1) {
        fprintf(stderr, "gpus: %d GPUs here, %d threads at most\n", found, MOST_THREADS);
        return 2;
    }
    fd = open(words[1], O_RDONLY);
    if (fd < 0) die(words[1], 0);
    size_t slabs = threads * SLABS * PIECE, room = slabs > COPIED ? slabs : COPIED;
    for (int g = 0; g < gpus; g++) {
        CUdevice which;
        CU(cuDeviceGet(&which, g));
        CU(cuDevicePrimaryCtxRetain(&context[g], which));
        CU(cuCtxSetCurrent(context[g]));
        CU(cuMemAlloc(&device[g], bytes > COPIED ? bytes : COPIED));
        pinned[g] = pinned_memory(room);
    }
    printf("copies %.1f\n", gpus * COPIES * COPIED / median(copies, gpus, 1) / 1e9);
    printf("pipeline %.1f\n", gpus * bytes / median(pipeline, gpus * threads, passes) / 1e9);
    return 0;
}
