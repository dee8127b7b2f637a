// The least process that brings files into GPU memory: contexts, one allocation a GPU, threads with two pinned pieces each, exit. Frees
// nothing. Prints when each stage ended, in seconds since the start of main.
//   whole GPUS THREADS FILE...     every GPU gets all bytes; without files it makes the contexts and ends
#define _GNU_SOURCE
#define PROGRAM "whole"
#include <cuda.h>
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define MOST_GPUS 16
static int gpus, threads, files;
static CUcontext context[MOST_GPUS];
static CUdeviceptr memory[MOST_GPUS];
static int *fd;
static size_t *begin; // of each file in the memory
static atomic_size_t next;

static void *gpu_ready(void *number) {
    int gpu = (int)(size_t)number;
    CUdevice device;
    CU(cuDeviceGet(&device, gpu));
    CU(cuDevicePrimaryCtxRetain(&context[gpu], device));
    CU(cuCtxSetCurrent(context[gpu]));
    if (files) CU(cuMemAlloc(&memory[gpu], begin[files]));
    return NULL;
}

static void *reader(void *unused) {
    CUstream stream[MOST_GPUS];
    CUevent copied[MOST_GPUS][2];
    CU(cuCtxSetCurrent(context[0]));
    char *slab = pinned_memory(2 * PIECE);
    for (int g = 0; g < gpus; g++) {
        CU(cuCtxSetCurrent(context[g]));
        CU(cuStreamCreate(&stream[g], CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 2; i++) CU(cuEventCreate(&copied[g][i], CU_EVENT_DISABLE_TIMING));
    }
    int file = 0;
    for (int mine = 0;; mine = !mine) {
        size_t at = atomic_fetch_add(&next, PIECE);
        if (at >= begin[files]) break;
        for (int g = 0; g < gpus; g++) CU(cuEventSynchronize(copied[g][mine]));
        size_t end = at + PIECE < begin[files] ? at + PIECE : begin[files];
        for (size_t done = at; done < end;) {
            while (done >= begin[file + 1]) file++;
            size_t part = (end < begin[file + 1] ? end : begin[file + 1]) - done;
            transfer(0, fd[file], slab + mine * PIECE + (done - at), part, done - begin[file]);
            done += part;
        }
        for (int g = 0; g < gpus; g++) {
            CU(cuCtxSetCurrent(context[g]));
            CU(cuMemcpyHtoDAsync(memory[g] + at, slab + mine * PIECE, end - at, stream[g]));
            CU(cuEventRecord(copied[g][mine], stream[g]));
        }
    }
    for (int g = 0; g < gpus; g++) CU(cuStreamSynchronize(stream[g]));
    return NULL;
}

static void all(int count, void *(*work)(void *)) {
    pthread_t t[256];
    for (int i = 0; i < count; i++) if (pthread_create(&t[i], NULL, work, (void *)(size_t)i)) die("pthread_create", 0);
    for (int i = 0; i < count; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv) {
    double start = now();
    if (argc < 3 || (gpus = atoi(argv[1])) < 1 || gpus > MOST_GPUS || (threads = atoi(argv[2])) < 1 || threads > 256) die("whole GPUS THREADS FILE...", 2);
    files = argc - 3;
    fd = calloc(files + 1, sizeof *fd);
    begin = calloc(files + 1, sizeof *begin);
    for (int i = 0; i < files; i++) {
        struct stat s;
        if ((fd[i] = open(argv[3 + i], O_RDONLY)) < 0 || fstat(fd[i], &s)) die(argv[3 + i], 0);
        begin[i + 1] = begin[i] + s.st_size;
    }
    CU(cuInit(0));
    double init = now();
    all(gpus, gpu_ready);
    double ready = now();
    if (files) all(threads, reader);
    printf("{\"init\":%.3f,\"context\":%.3f,\"loaded\":%.3f}\n", init - start, ready - start, now() - start);
    fflush(stdout);
    _exit(0);
}
