// A file in memory to two GPUs, read once, written by hand; parallel.sh sets gds load beside it.
//
//   build: gcc -O2 -pthread parallel.c -o parallel -lcuda
//   run:   parallel FILE THREADS PASSES      prints medians: NAME GB/s delivered to both GPUs together, CPU ms per delivered GB
//          one        the file to the first GPU alone
//          both       pieces of 4 MiB: pread into one of two pinned slabs, a copy to each GPU
//          peers      pieces to one GPU in turns, which passes each on to the other one (needs peer access)
//          halves     TP 2: each row of 8 KiB is cut in two, a copy of rows to each GPU
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
#define GPUS 2
#define MOST_THREADS 64
#define ROW ((size_t)8 << 10)

static int threads, fd;
static size_t bytes;
static CUcontext context[GPUS];
static CUdeviceptr device[GPUS];
static char *pinned;
static atomic_size_t next;
static enum { ONE, BOTH, PEERS, HALVES } mode;

static void rows(CUdeviceptr to, char *from, size_t length, CUstream stream) {
    CUDA_MEMCPY2D copy = {0};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = from, copy.srcPitch = ROW;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = to, copy.dstPitch = ROW / 2;
    copy.WidthInBytes = ROW / 2, copy.Height = length / ROW;
    CU(cuMemcpy2DAsync(&copy, stream));
}

static void *work(void *argument) {
    long id = (long)argument;
    char *slabs = pinned + id * SLABS * PIECE;
    CUstream stream[GPUS];
    CUevent done[SLABS][GPUS];
    int used[SLABS][GPUS] = {{0}};
    for (int g = 0; g < GPUS; g++) {
        CU(cuCtxSetCurrent(context[g]));
        CU(cuStreamCreate(&stream[g], CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < SLABS; i++) CU(cuEventCreate(&done[i][g], CU_EVENT_DISABLE_TIMING));
    }
    for (long k = 0;; k++) {
        size_t at = atomic_fetch_add(&next, PIECE);
        if (at >= bytes) break;
        size_t length = at + PIECE <= bytes ? PIECE : bytes - at;
        int slot = k % SLABS, first = at / PIECE % GPUS;
        char *slab = slabs + slot * PIECE;
        for (int g = 0; g < GPUS; g++)
            if (used[slot][g]) {
                CU(cuEventSynchronize(done[slot][g]));
                used[slot][g] = 0;
            }
        transfer(0, fd, slab, length, at);
        for (int g = 0; g < GPUS; g++) {
            if (mode == ONE && g > 0) break;
            if (mode == PEERS && g != first) continue;
            CU(cuCtxSetCurrent(context[g]));
            if (mode == HALVES)
                rows(device[g] + at / 2, slab + g * ROW / 2, length, stream[g]);
            else
                CU(cuMemcpyHtoDAsync(device[g] + at, slab, length, stream[g]));
            CU(cuEventRecord(done[slot][g], stream[g]));
            used[slot][g] = 1;
            if (mode == PEERS)
                CU(cuMemcpyPeerAsync(device[!g] + at, context[!g], device[g] + at, context[g], length, stream[g]));
        }
    }
    for (int g = 0; g < GPUS; g++) {
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
    double delivered = (mode == BOTH || mode == PEERS ? 2 : 1) * bytes / 1e9;
    printf("%s %.1f %.0f\n", name, delivered / took[passes / 2], used / passes / delivered * 1000);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: parallel FILE THREADS PASSES\n");
        return 2;
    }
    threads = atoi(words[2]);
    int passes = atoi(words[3]), found, reach = 0, back = 0;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&found));
    if (found < GPUS || threads < 1 || threads > MOST_THREADS || passes < 1) {
        fprintf(stderr, "parallel: %d GPUs here, 2 needed; 1 to %d threads\n", found, MOST_THREADS);
        return 2;
    }
    struct stat file;
    fd = open(words[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &file)) die(words[1], 0);
    bytes = file.st_size & -(off_t)ROW;
    for (int g = 0; g < GPUS; g++) {
        CUdevice which;
        CU(cuDeviceGet(&which, g));
        CU(cuDevicePrimaryCtxRetain(&context[g], which));
        CU(cuCtxSetCurrent(context[g]));
        CU(cuMemAlloc(&device[g], bytes));
    }
    pinned = pinned_memory(threads * SLABS * PIECE);
    CU(cuDeviceCanAccessPeer(&reach, 0, 1));
    CU(cuDeviceCanAccessPeer(&back, 1, 0));
    measure("one", ONE, passes);
    measure("both", BOTH, passes);
    measure("halves", HALVES, passes);
    if (reach && back) {
        for (int g = 0; g < GPUS; g++) {
            CU(cuCtxSetCurrent(context[g]));
            CU(cuCtxEnablePeerAccess(context[!g], 0));
        }
        measure("peers", PEERS, passes);
    }
    return 0;
}
