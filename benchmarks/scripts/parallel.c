// A file in memory to several GPUs, read once, written by hand; parallel.sh sets gds load beside it.
//
//   build: gcc -O2 -pthread parallel.c -o parallel -lcuda
//   run:   parallel FILE GPUS THREADS PASSES      prints medians: NAME GB/s delivered to all GPUs together, CPU ms per delivered GB
//          one        the file to the first GPU alone
//          all        pieces of 4 MiB: pread into one of two pinned slabs, a copy to each GPU
//          peers      pieces to one GPU in turns, which passes each on to the others (needs peer access)
//          slices     TP: each row of 8 KiB is cut into one slice for each GPU, a copy of rows to each
#define _GNU_SOURCE
#define PROGRAM "parallel"
#include <cuda.h>
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define SLABS 2
#define MOST_GPUS 8
#define MOST_THREADS 64
#define ROW ((size_t)8 << 10)

static int gpus, threads, fd;
static size_t bytes;
static CUcontext context[MOST_GPUS];
static CUdeviceptr device[MOST_GPUS];
static char *pinned;
static atomic_size_t next;
static enum { ONE, ALL, PEERS, SLICES } mode;

static void rows(CUdeviceptr to, char *from, size_t length, CUstream stream) {
    size_t width = ROW / gpus;
    CUDA_MEMCPY2D copy = {0};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = from, copy.srcPitch = ROW;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = to, copy.dstPitch = width;
    copy.WidthInBytes = width, copy.Height = length / ROW;
    CU(cuMemcpy2DAsync(&copy, stream));
}

static void *work(void *argument) {
    long id = (long)argument;
    char *slabs = pinned + id * SLABS * PIECE;
    CUstream stream[MOST_GPUS];
    CUevent done[SLABS][MOST_GPUS];
    int used[SLABS][MOST_GPUS] = {{0}};
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(context[g]));
        CU(cuStreamCreate(&stream[g], CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < SLABS; i++) CU(cuEventCreate(&done[i][g], CU_EVENT_DISABLE_TIMING));
    }
    for (long k = 0;; k++) {
        size_t at = atomic_fetch_add(&next, PIECE);
        if (at >= bytes) break;
        size_t length = at + PIECE <= bytes ? PIECE : bytes - at;
        int slot = k % SLABS, first = at / PIECE % gpus;
        char *slab = slabs + slot * PIECE;
        for (int g = 0; g < gpus; g++)
            if (used[slot][g]) {
                CU(cuEventSynchronize(done[slot][g]));
                used[slot][g] = 0;
            }
        transfer(0, fd, slab, length, at);
        for (int g = 0; g < gpus; g++) {
            if (mode == ONE && g > 0) break;
            if (mode == PEERS && g != first) continue;
            CU(cuCtxSetCurrent(context[g]));
            if (mode == SLICES)
                rows(device[g] + at / gpus, slab + g * ROW / gpus, length, stream[g]);
            else
                CU(cuMemcpyHtoDAsync(device[g] + at, slab, length, stream[g]));
            CU(cuEventRecord(done[slot][g], stream[g]));
            used[slot][g] = 1;
            for (int to = 0; mode == PEERS && to < gpus; to++)
                if (to != g) CU(cuMemcpyPeerAsync(device[to] + at, context[to], device[g] + at, context[g], length, stream[g]));
        }
    }
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(context[g]));
        CU(cuStreamSynchronize(stream[g]));
        for (int i = 0; i < SLABS; i++) CU(cuEventDestroy(done[i][g]));
        CU(cuStreamDestroy(stream[g]));
    }
    return 0;
}

static double processor(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double pass(void) {
    pthread_t all[MOST_THREADS];
    next = 0;
    double began = now();
    for (long i = 0; i < threads; i++)
        if (pthread_create(&all[i], 0, work, (void *)i)) die("pthread_create", 0);
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    return now() - began;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, int which, int passes) {
    double took[passes];
    mode = which;
    pass();
    double before = processor();
    for (int i = 0; i < passes; i++) took[i] = pass();
    double used = processor() - before;
    qsort(took, passes, sizeof *took, ascending);
    double delivered = (mode == ALL || mode == PEERS ? gpus : 1) * bytes / 1e9;
    printf("%s %.1f %.0f\n", name, delivered / took[passes / 2], used / passes / delivered * 1000);
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: parallel FILE GPUS THREADS PASSES\n");
        return 2;
    }
    gpus = atoi(words[2]), threads = atoi(words[3]);
    int passes = atoi(words[4]), found, reach = 1;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&found));
    if (gpus < 1 || gpus > found || gpus > MOST_GPUS || ROW % gpus || threads < 1 || threads > MOST_THREADS || passes < 1) {
        fprintf(stderr, "parallel: 1 to %d GPUs, a power of two; 1 to %d threads\n", found < MOST_GPUS ? found : MOST_GPUS, MOST_THREADS);
        return 2;
    }
    struct stat file;
    fd = open(words[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &file)) die(words[1], 0);
    bytes = file.st_size & -(off_t)ROW;
    for (int g = 0; g < gpus; g++) {
        CUdevice which;
        CU(cuDeviceGet(&which, g));
        CU(cuDevicePrimaryCtxRetain(&context[g], which));
        CU(cuCtxSetCurrent(context[g]));
        CU(cuMemAlloc(&device[g], bytes));
    }
    pinned = pinned_memory(threads * SLABS * PIECE);
    measure("one", ONE, passes);
    measure("all", ALL, passes);
    measure("slices", SLICES, passes);
    for (int g = 0; g < gpus; g++)
        for (int to = 0, can = 1; to < gpus; to++) {
            if (to != g) CU(cuDeviceCanAccessPeer(&can, g, to));
            reach &= can;
        }
    if (reach && gpus > 1) {
        for (int g = 0; g < gpus; g++) {
            CU(cuCtxSetCurrent(context[g]));
            for (int to = 0; to < gpus; to++)
                if (to != g) CU(cuCtxEnablePeerAccess(context[to], 0));
        }
        measure("peers", PEERS, passes);
    }
    return 0;
}
