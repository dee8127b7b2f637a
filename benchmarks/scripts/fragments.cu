// Blocks of 2 MiB of a file to and from fragments all over GPU memory, written by hand; fragments.sh sets gds4j beside it.
//
//   build: nvcc -O3 -arch=native -std=c++17 fragments.cu -o fragments -lcuda                        without ranges
//          nvcc -O3 -arch=native -std=c++17 -DCUFILE fragments.cu -o fragments -lcufile -lcuda
//          g++ -O3 -std=c++17 -pthread -x c++ fragments.cu -o fragments                             host memory
//   run:   fragments FILE BYTES RANGES      the file's size, and a file with a line for each range: offset and size
//
// Each line on standard input is  KIND OPEN FRAGMENT THREADS BYTES PASSES,  each answer GB/s (median) and milliseconds of processor
// time per GB. OPEN is hot or cold, which is the caller's work, or direct (O_DIRECT); hot passes follow one that does not count.
//   read     each thread preads 2 MiB into one of its two pinned slabs, and one kernel copies it to its fragments meanwhile
//   write    one kernel collects the fragments of 2 MiB in one slab while the other one is written
//   pread    the same reads without a GPU; pwrite the same writes
//   ranges   cuFileRead of each range into a buffer of its own, one after the other by each thread (host memory: pread)
#define PROGRAM "fragments"
#ifdef __CUDACC__
#include <cuda.h>
#include <cuda_runtime.h>
#endif
#ifdef CUFILE
#include <cufile.h>
#endif
#include "common.h"
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

static const size_t SLOT = 2 << 20;
static const int SLABS = 2, MAX_FRAGMENTS = 64;

struct Case {
    std::string kind, open;
    size_t fragment;
    int threads;
    size_t bytes;
    int passes;
};
struct Range { size_t offset, size, place; };
struct Places { char *at[MAX_FRAGMENTS]; };

static char *pool;
static std::vector<Range> ranges;
static std::map<size_t, std::vector<unsigned>> orders; // of a fragment's size
static int files[2];                                   // through the page cache, past it

#ifdef __CUDACC__
#define RT(call) do { cudaError_t e_ = (call); if (e_) die(#call, e_); } while (0)
static const int PARTS = 4; // blocks for each fragment

__global__ void copy_fragments(char *slab, Places places, size_t fragment, bool write) {
    size_t part = fragment / PARTS, at = blockIdx.x % PARTS * part;
    uint4 *here = (uint4 *)(slab + blockIdx.x / PARTS * fragment + at), *there = (uint4 *)(places.at[blockIdx.x / PARTS] + at);
    for (size_t i = threadIdx.x; i < part / sizeof(uint4); i += blockDim.x)
        if (write) here[i] = there[i]; else there[i] = here[i];
}

struct Slab {
    char *memory;
    long slot = -1;
    cudaStream_t stream;
    cudaEvent_t done;
    Slab() {
        RT(cudaHostAlloc((void **)&memory, SLOT, cudaHostAllocPortable));
        RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        RT(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    }
    void copy(const Places &places, size_t fragment, bool write) {
        copy_fragments<<<SLOT / fragment * PARTS, 512, 0, stream>>>(memory, places, fragment, write);
        RT(cudaEventRecord(done, stream));
    }
    void await() { RT(cudaEventSynchronize(done)); }
};
static char *take_memory(size_t bytes) {
    char *memory;
    RT(cudaMalloc((void **)&memory, bytes));
    return memory;
}
#else
struct Slab {
    char *memory = host_memory(SLOT);
    long slot = -1;
    void copy(const Places &places, size_t fragment, bool write) {
        for (size_t i = 0; i < SLOT / fragment; i++)
            memcpy(write ? memory + i * fragment : places.at[i], write ? places.at[i] : memory + i * fragment, fragment);
    }
    void await() {}
};
static char *take_memory(size_t bytes) { return (char *)memset(host_memory(bytes), 1, bytes); }
#endif

// Code of the library's last failure, which ends a case and not the program.
static std::atomic<long> failure(0);

#ifdef CUFILE
static CUfileHandle_t handles[2];
static void open_library() {
    CUfileError_t e = cuFileDriverOpen();
    for (int i = 0; i < 2 && !e.err; i++) {
        CUfileDescr_t d = {};
        d.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
        d.handle.fd = files[i];
        e = cuFileHandleRegister(&handles[i], &d);
    }
    failure = e.err;
}
static void read_range(int direct, const Range &r) {
    ssize_t n = cuFileRead(handles[direct], pool, r.size, r.offset, r.place);
    if (n != (ssize_t)r.size) failure = n < 0 ? n : -1;
}
#else
static void open_library() {
#ifdef __CUDACC__
    failure = -1; // built without it
#endif
}
static void read_range(int, const Range &r) { transfer(0, files[0], pool + r.place, r.size, r.offset); } // O_DIRECT would not take them
#endif

static void blocks(const Case &c, int fd, Slab *slabs, std::atomic<long> &next) {
    bool write = c.kind == "write" || c.kind == "pwrite", gpu = c.kind == "read" || c.kind == "write";
    const std::vector<unsigned> &order = orders[c.fragment];
    size_t count = SLOT / c.fragment;
    auto finish = [&](Slab &slab) {
        if (gpu && slab.slot >= 0) slab.await();
        if (write && slab.slot >= 0) transfer(1, fd, slab.memory, SLOT, slab.slot * SLOT);
        slab.slot = -1;
    };
    for (long k = 0;; k++) {
        long slot = next++;
        Slab &slab = slabs[k % SLABS];
        finish(slab);
        if (slot >= (long)(c.bytes / SLOT)) break;
        if (!write) transfer(0, fd, slab.memory, SLOT, slot * SLOT);
        if (gpu) {
            Places places;
            for (size_t i = 0; i < count; i++) places.at[i] = pool + order[slot * count + i] * c.fragment;
            slab.copy(places, c.fragment, write);
        }
        slab.slot = slot;
    }
    for (int i = 0; i < SLABS; i++) finish(slabs[i]);
}

static double pass(const Case &c, std::vector<Slab> &slabs) {
    std::atomic<long> next(0);
    std::vector<std::thread> threads;
    int direct = c.open == "direct";
    double begun = now();
    for (int t = 0; t < c.threads; t++)
        threads.emplace_back([&, t] {
#ifdef __CUDACC__
            RT(cudaSetDevice(0));
#endif
            if (c.kind == "ranges")
                for (long i; !failure && (i = next++) < (long)ranges.size();) read_range(direct, ranges[i]);
            else
                blocks(c, files[direct], &slabs[t * SLABS], next);
        });
    for (auto &thread : threads) thread.join();
    return now() - begun;
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: fragments FILE BYTES RANGES\n");
        return 2;
    }
    size_t size = strtoull(words[2], 0, 10), all = 0;
    files[0] = open(words[1], O_RDWR), files[1] = open(words[1], O_RDWR | O_DIRECT);
    if (files[1] < 0) files[1] = files[0]; // a file system without
    if (files[0] < 0) die(words[1], 0);
    FILE *list = fopen(words[3], "r");
    if (!list) die(words[3], 0);
    for (Range r = {}; fscanf(list, "%zu %zu", &r.offset, &r.size) == 2; all += r.size, r.place += (r.size + 255) & ~(size_t)255) ranges.push_back(r);
    fclose(list);
    pool = take_memory(size);
    std::vector<Slab> slabs;
    bool library = false;
    char kind[16], open[16];
    for (Case c; scanf("%15s %15s %zu %d %zu %d", kind, open, &c.fragment, &c.threads, &c.bytes, &c.passes) == 6;) {
        c.kind = kind, c.open = open;
        if (c.fragment < SLOT / MAX_FRAGMENTS || SLOT % c.fragment || c.threads < 1 || c.bytes > size || c.passes < 1) die("a case", 2);
        failure = 0;
        if (c.kind == "ranges") {
            if (!library) open_library();
            library = !failure;
            c.bytes = all;
        } else if (orders[c.fragment].empty()) {
            std::vector<unsigned> &order = orders[c.fragment];
            for (size_t i = 0; i < size / c.fragment; i++) order.push_back(i);
            std::shuffle(order.begin(), order.end(), std::mt19937(7));
        }
        while (slabs.size() < (size_t)c.threads * SLABS) {
            slabs.emplace_back();
            memset(slabs.back().memory, 1, SLOT);
        }
        if (c.open == "hot") pass(c, slabs);
        std::vector<double> seconds;
        double used = cpu();
        for (int i = 0; i < c.passes; i++) seconds.push_back(pass(c, slabs));
        used = cpu() - used;
        std::sort(seconds.begin(), seconds.end());
        if (failure)
            printf("libcufile failed: %ld\n", failure.load());
        else
            printf("%.3f %.0f\n", c.bytes / seconds[c.passes / 2] / 1e9, used / c.passes / c.bytes * 1e12);
        fflush(stdout);
    }
    return 0;
}
