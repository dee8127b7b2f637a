// What the hand-written programs share. PROGRAM is the name that stands before their messages.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)4 << 20)
#define CU(call) do { CUresult r_ = (call); if (r_) die(#call, (int)r_); } while (0)

static inline void die(const char *what, int code) {
    fprintf(stderr, PROGRAM ": %s: %d %s\n", what, code, code == 0 ? strerror(errno) : "");
    exit(1);
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Seconds of processor time of this process.
static inline double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline void transfer(int write, int fd, char *host, size_t bytes, size_t offset) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write ? pwrite(fd, host + done, bytes - done, offset + done)
                          : pread(fd, host + done, bytes - done, offset + done);
        if (n <= 0) die(write ? "pwrite" : "pread", 0);
        done += n;
    }
}

static inline char *host_memory(size_t bytes) {
    char *m = (char *)mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) die("mmap", 0);
    madvise(m, bytes, MADV_HUGEPAGE); // as gds4j allocates: first touch of small pages would hide everything else
    return m;
}

#ifdef CUDA_VERSION
// Memory of cuMemHostAlloc is in small pages, and slower where those are scattered.
static inline char *pinned_memory(size_t bytes) {
    char *m = host_memory(bytes);
    memset(m, 1, bytes);
    CU(cuMemHostRegister(m, bytes, CU_MEMHOSTREGISTER_PORTABLE));
    return m;
}
#endif
