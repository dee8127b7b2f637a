// The least that loads many safetensors files of one tensor each: one thread opens, reads and closes each file of a folder, into one
// allocation. With -DGPU, memory of GPU 0, by way of two pinned buffers. Prints seconds from the first file to the last byte.
//   many FOLDER
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef GPU
#include <cuda.h>
#define CHECK(call) do { CUresult r = (call); if (r) { fprintf(stderr, "%s: %d\n", #call, r); exit(1); } } while (0)
#endif

static int order(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1])) { perror("many FOLDER"); return 1; }
    double begin = now();
    DIR *folder = opendir(".");
    char **names = NULL;
    size_t count = 0, room = 0, total = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        char *end = strrchr(e->d_name, '.');
        if (!end || strcmp(end, ".safetensors")) continue;
        if (count == room) names = realloc(names, (room = room ? 2 * room : 1024) * sizeof *names);
        names[count++] = strdup(e->d_name);
        struct stat s;
        if (stat(e->d_name, &s)) { perror(e->d_name); return 1; }
        total += s.st_size;
    }
    qsort(names, count, sizeof *names, order);
#ifdef GPU
    enum { SLAB = 16 << 20 };
    CUdevice device; CUcontext context; CUstream stream; CUevent free_again[2]; CUdeviceptr memory; char *slab[2];
    CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device)); CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)); CHECK(cuMemAlloc(&memory, total));
    for (int i = 0; i < 2; i++) { CHECK(cuEventCreate(&free_again[i], CU_EVENT_DISABLE_TIMING)); CHECK(cuMemAllocHost((void **)&slab[i], SLAB)); }
    size_t filled = 0, copied = 0; int mine = 0;
#else
    char *memory = malloc(total);
#endif
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        char head[4096];
        uint64_t length;
        struct stat s;
        int fd = open(names[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &s) || pread(fd, head, sizeof head, 0) < 8) { perror(names[i]); return 1; }
        memcpy(&length, head, 8);
        size_t bytes = s.st_size - 8 - length;
#ifdef GPU
        if (filled + bytes > SLAB) {
            CHECK(cuMemcpyHtoDAsync(memory + copied, slab[mine], filled, stream)); CHECK(cuEventRecord(free_again[mine], stream));
            copied += filled; filled = 0; mine = !mine;
            CHECK(cuEventSynchronize(free_again[mine]));
        }
        char *to = slab[mine] + filled;
        filled += bytes;
#else
        char *to = memory + at;
#endif
        if (pread(fd, to, bytes, 8 + length) != (ssize_t)bytes) { perror(names[i]); return 1; }
        at += bytes;
        close(fd);
    }
#ifdef GPU
    CHECK(cuMemcpyHtoDAsync(memory + copied, slab[mine], filled, stream)); CHECK(cuStreamSynchronize(stream));
#endif
    printf("{\"files\":%zu,\"bytes\":%zu,\"seconds\":%.4f}\n", count, at, now() - begin);
    return 0;
}
