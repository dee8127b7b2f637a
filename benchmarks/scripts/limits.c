// What the hardware and the kernel allow, written by hand in C, case by case; compare.sh sets gds io beside it.
//
//   build: gcc -O2 -pthread limits.c -o limits                                   host targets only
//          gcc -O2 -pthread -DGPU limits.c -o limits -lcuda                      and a GPU
//          gcc -O2 -pthread -DGPU -DCUFILE limits.c -o limits -lcufile -lcuda    and libcufile on the same cases
//   run:   limits TARGET ENGINE FILE CASE...      TARGET: gpu | host    ENGINE: limit | cufile
//          CASE is  name:kind:bytes:threads:request[:offset], or - for those that stand on standard input, a line each
//   kinds: hot      read through the page cache, file in it             GB/s    (limit: 4 MiB pieces, asynchronous copies)
//          tuned    the same into a GPU by what proved the better pipeline: as SLABS=2 SLEEP=1 below
//          first    the same once, with the time to pin its slabs, to allocate the GPU memory and to start the threads
//          anew     tuned, into GPU memory that the time allocates, after the memory of a pass before was freed
//          calls    reads of the request's size into a GPU, hot, one after the other by each thread; helpers, which spin between
//                   requests, take their pieces (the best known structure for this shape of requests)          GB/s
//          gathered the same with one kernel for each request, which waits on the GPU for its pieces and copies them; helpers sleep
//                   between requests (the best known structure for this shape since then)                   GB/s
//          fresh    hot, into memory that nobody has touched (host)     GB/s
//          cold     read with O_DIRECT, file not in the page cache      GB/s    (limit: pread alone)
//          bcold    the same through the page cache, which then holds it  GB/s
//          mixed    as cold, second half of the bytes alone           GB/s of all bytes: what is cached costs nothing
//          halves   the first half cached, the second not: threads read both at once, claiming what is left of either        GB/s
//          wcache   write through the page cache                        GB/s    (limit: 4 MiB pieces, asynchronous copies)
//          wdirect  write with O_DIRECT                                 GB/s    (limit: pwrite alone)
//          random   reads at random places, aligned to 4 KiB, hot       GB/s    (limit: pread, copy, synchronise)
//          latency  hot sequential reads by one thread, mean of all from clock to clock  us  (limit: pread, copy, synchronise)
//          batch    128 reads submitted together, hot, in order         us each (limit: 128 times pread and copy, synchronise once)
//          cbatch   the same with O_DIRECT, file not in the page cache  us each (limit: preads by that many threads, no copy)
//          sbatch   the same anywhere in the file                       us each
//          fbatch   as sbatch, and each batch is copied and finished before the next one begins  us each
//          pool     batches of 128 adjacent reads, hot, each served by that many sleeping threads that claim and merge entries   GB/s
//          queued   requests queued on one stream, hot: threads fill slabs ahead, the stream waits for each slab and copies it   GB/s
//          stream   reads queued on one stream, hot                     GB/s    (limit: as hot)
//          create   make the file of that many bytes                    GB/s
// Hot reads into a GPU: SLABS=2 in the environment gives each thread so many (4), SLEEP=1 has threads claim pieces and sleep while they wait.
// Calls and gathered: TEAM=3 gives each caller so many helpers, CUT=1024 cuts requests into pieces of so many KiB; BLOCKS=128.
// Each case runs once uncounted before it counts. One line each: name value, and behind GB/s milliseconds of processor time per GB
#define _GNU_SOURCE
#define PROGRAM "limits"
#ifdef GPU
#include <cuda.h>
#endif
#ifdef CUFILE
#include <cufile.h>
#endif
#include "common.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DEPTH 4
#define BATCH 128
#define QUEUED 16
#define MOST_THREADS 64
#define MOST_HELPERS 15

static const char *path;
static int on_gpu, use_cufile;
static int buffered = -1, direct = -1;
static char *memory;            // host target
static size_t memory_bytes;
#ifdef GPU
static CUcontext context;
static CUdeviceptr device;
static size_t device_bytes;
#endif
#ifdef CUFILE
static CUfileHandle_t buffered_handle, direct_handle;
#endif

struct job {
    char name[64], kind[16];
    size_t bytes, request, offset;
    int threads;
};

struct worker {
    const struct job *job;
    int id, write, fd, ops;
    char *pinned;
    pthread_barrier_t *gate;
    double begin, end, inside;
    struct team *team;
};

static int is(const struct job *job, const char *kind) { return !strcmp(job->kind, kind); }

#ifdef GPU
static int slabs = DEPTH;       // so many a thread
static int sleeps;              // pieces are claimed as they come, and threads sleep between looks at a copy
static atomic_long next_piece;

static void await_copy(CUevent done) {
    if (!sleeps) {
        CU(cuEventSynchronize(done));
        return;
    }
    struct timespec pause = {0, 20000};
    CUresult r;
    while ((r = cuEventQuery(done)) == CUDA_ERROR_NOT_READY) nanosleep(&pause, 0);
    CU(r);
}

// Threads take turns on pieces; while one slot is copied, others are filled.
static void pipeline(struct worker *w) {
    const struct job *job = w->job;
    int claims = sleeps && !w->write;
    if (sleeps) prctl(PR_SET_TIMERSLACK, 1L);
    CUstream stream;
    CUevent done[DEPTH];
    size_t where[DEPTH];
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < DEPTH; i++) CU(cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    size_t pieces = (job->bytes + PIECE - 1) / PIECE;
    long k = 0;
    for (size_t p = claims ? atomic_fetch_add(&next_piece, 1) : w->id; p < pieces;
         p = claims ? atomic_fetch_add(&next_piece, 1) : p + job->threads, k++) {
        size_t at = p * PIECE, length = at + PIECE <= job->bytes ? PIECE : job->bytes - at;
        int slot = k % (w->write ? DEPTH : slabs);
        char *host = w->pinned + slot * PIECE;
        if (!w->write) {
            if (k >= slabs) await_copy(done[slot]);
            transfer(0, w->fd, host, length, job->offset + at);
            CU(cuMemcpyHtoDAsync(device + at, host, length, stream));
            CU(cuEventRecord(done[slot], stream));
        } else {
            CU(cuMemcpyDtoHAsync(host, device + at, length, stream));
            CU(cuEventRecord(done[slot], stream));
            where[slot] = at;
            if (k >= DEPTH - 1) {
                int oldest = (k + 1) % DEPTH;
                size_t from = where[oldest], n = from + PIECE <= job->bytes ? PIECE : job->bytes - from;
                CU(cuEventSynchronize(done[oldest]));
                transfer(1, w->fd, w->pinned + oldest * PIECE, n, job->offset + from);
            }
        }
    }
    if (w->write) {
        long first = k > DEPTH - 1 ? k - (DEPTH - 1) : 0;
        for (long j = first; j < k; j++) {
            int slot = j % DEPTH;
            size_t from = where[slot], n = from + PIECE <= job->bytes ? PIECE : job->bytes - from;
            CU(cuEventSynchronize(done[slot]));
            transfer(1, w->fd, w->pinned + slot * PIECE, n, job->offset + from);
        }
    }
    CU(cuStreamSynchronize(stream));
    for (int i = 0; i < DEPTH; i++) CU(cuEventDestroy(done[i]));
    CU(cuStreamDestroy(stream));
}

// Reads of a request's size: a caller and its helpers claim the pieces of one request after the other. Each has a stream and two
// slabs; nobody sleeps between requests.
struct team {
    atomic_int word;            // gathered: the request's number, on which helpers sleep
    volatile uint32_t *board;   // gathered: a line for each piece that has arrived, behind them a word for each unit that is copied
    CUdeviceptr board_on_gpu;
    atomic_long request, next_piece;
    atomic_int at_work, ends;
    const struct job *job;
    size_t at;
    int fd, helpers;
    struct member {
        struct team *team;
        pthread_t thread;
        CUstream stream;
        CUevent done[2];
        char *slabs;
    } members[MOST_HELPERS + 1];
};

static size_t cut_of(const struct job *job) {
    size_t best = is(job, "gathered") ? 128 : job->threads == 1 ? 1024 : 4096;
    size_t cut = (getenv("CUT") ? (size_t)atoi(getenv("CUT")) : best) << 10;
    return cut < job->request ? cut : job->request;
}

static int helpers_of(const struct job *job) {
    int best = job->threads == 1 ? (is(job, "gathered") ? 11 : 7) : job->threads <= 4 ? 3 : is(job, "gathered");
    int helpers = getenv("TEAM") ? atoi(getenv("TEAM")) : best;
    return helpers < MOST_HELPERS ? helpers : MOST_HELPERS;
}

static void join_in(struct team *team, struct member *me) {
    const struct job *job = team->job;
    size_t cut = cut_of(job), pieces = (job->request + cut - 1) / cut;
    int k = 0;
    for (size_t p; (p = atomic_fetch_add(&team->next_piece, 1)) < pieces; k++) {
        size_t at = team->at + p * cut, length = p + 1 < pieces ? cut : job->request - p * cut;
        char *slab = me->slabs + (k & 1) * cut;
        if (k > 1) await_copy(me->done[k & 1]);
        transfer(0, team->fd, slab, length, job->offset + at);
        CU(cuMemcpyHtoDAsync(device + at, slab, length, me->stream));
        CU(cuEventRecord(me->done[k & 1], me->stream));
    }
    // Whoever asks without a pause keeps the driver from starting other copies: 38 in place of 47 GB/s for four callers.
    if (k > 0) await_copy(me->done[(k - 1) & 1]);
}

static void futex_wait(atomic_int *word, int seen) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0); }
static void futex_wake(atomic_int *word, int most) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, 0, 0, 0); }

#define UNIT 65536
#define COPIED 32768
static CUfunction gather;
static const char *gather_ptx =
    ".version 6.3\n.target sm_70\n.address_size 64\n"
    ".visible .entry gather(.param .u64 board, .param .u64 slab, .param .u64 to, .param .u32 seq, .param .u32 units, .param .u32 each) {\n"
    ".reg .pred %p<4>; .reg .b32 %r<12>; .reg .b32 %v<32>; .reg .b64 %a<12>;\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;\n"
    "ld.param.u64 %a0, [board]; ld.param.u64 %a1, [slab]; ld.param.u64 %a2, [to];\n"
    "ld.param.u32 %r3, [seq]; ld.param.u32 %r4, [units]; ld.param.u32 %r5, [each];\n"
    "NEXT: setp.ge.u32 %p0, %r1, %r4; @%p0 ret; bar.sync 0;\n"
    "setp.ne.u32 %p1, %r0, 0; @%p1 bra GO;\n"
    "div.u32 %r6, %r1, %r5; mul.wide.u32 %a3, %r6, 64; add.u64 %a3, %a3, %a0;\n"
    "WAIT: ld.volatile.global.u32 %r7, [%a3]; setp.eq.u32 %p2, %r7, %r3; @%p2 bra GO; nanosleep.u32 200; bra WAIT;\n"
    "GO: bar.sync 0;\n"
    "mul.wide.u32 %a4, %r1, 65536; mul.wide.u32 %a5, %r0, 16; add.u64 %a4, %a4, %a5;\n"
    "add.u64 %a6, %a1, %a4; add.u64 %a7, %a2, %a4;\n"
#define LOAD(k, a, b, c, d) "ld.volatile.global.v4.u32 {%v" #a ", %v" #b ", %v" #c ", %v" #d "}, [%a6+" #k "];\n"
#define STORE(k, a, b, c, d) "st.global.v4.u32 [%a7+" #k "], {%v" #a ", %v" #b ", %v" #c ", %v" #d "};\n"
#define ALL(X) X(0, 0, 1, 2, 3) X(8192, 4, 5, 6, 7) X(16384, 8, 9, 10, 11) X(24576, 12, 13, 14, 15) \
    X(32768, 16, 17, 18, 19) X(40960, 20, 21, 22, 23) X(49152, 24, 25, 26, 27) X(57344, 28, 29, 30, 31)
    ALL(LOAD) ALL(STORE)
    "bar.sync 0; @%p1 bra STEP; membar.sys; mul.wide.u32 %a8, %r1, 4; add.u64 %a8, %a8, %a0; st.volatile.global.u32 [%a8+32768], %r3;\n"
    "STEP: add.u32 %r1, %r1, %r2; bra NEXT;\n}\n";

static void load_gather(void) {
    CUmodule module;
    if (gather) return;
    CU(cuModuleLoadData(&module, gather_ptx));
    CU(cuModuleGetFunction(&gather, module, "gather"));
}

static void gather_some(struct team *team) {
    const struct job *job = team->job;
    size_t cut = cut_of(job), pieces = (job->request + cut - 1) / cut;
    int word = atomic_load(&team->word);
    for (size_t p; (p = atomic_fetch_add(&team->next_piece, 1)) < pieces;) {
        size_t length = p + 1 < pieces ? cut : job->request - p * cut;
        transfer(0, team->fd, team->members[0].slabs + p * cut, length, job->offset + team->at + p * cut);
        atomic_thread_fence(memory_order_release);
        team->board[p * 16] = word;
    }
}

static void *help_gather(void *argument) {
    struct team *team = ((struct member *)argument)->team;
    prctl(PR_SET_TIMERSLACK, 1L);
    for (int seen = 0;;) {
        while (atomic_load(&team->word) == seen) futex_wait(&team->word, seen);
        if (atomic_load(&team->ends)) return 0;
        seen = atomic_load(&team->word);
        gather_some(team);
        atomic_fetch_sub(&team->at_work, 1);
    }
}

static void call_gathered(struct team *team, size_t at) {
    const struct job *job = team->job;
    unsigned units = (job->request + UNIT - 1) / UNIT, each = cut_of(job) / UNIT;
    while (atomic_load(&team->at_work) > 0) __builtin_ia32_pause();
    team->at = at;
    atomic_store(&team->at_work, team->helpers);
    atomic_store(&team->next_piece, 0);
    int word = atomic_fetch_add(&team->word, 1) + 1;
    futex_wake(&team->word, MOST_HELPERS);
    CUdeviceptr slab = (CUdeviceptr)team->members[0].slabs;
    CUdeviceptr to = device + at;
    void *arguments[] = {&team->board_on_gpu, &slab, &to, &word, &units, &each};
    unsigned blocks = getenv("BLOCKS") ? atoi(getenv("BLOCKS")) : 128;
    CU(cuLaunchKernel(gather, blocks < units ? blocks : units, 1, 1, 512, 1, 1, 0, team->members[0].stream, arguments, 0));
    gather_some(team);
    struct timespec pause = {0, 5000};
    for (unsigned u = 0; u < units; u++)
        while (team->board[COPIED / 4 + u] != (uint32_t)word) nanosleep(&pause, 0);
}

static void *help(void *argument) {
    struct member *me = argument;
    struct team *team = me->team;
    CU(cuCtxSetCurrent(context));
    for (long seen = 0;;) {
        while (atomic_load(&team->request) == seen && !atomic_load(&team->ends)) __builtin_ia32_pause();
        if (atomic_load(&team->ends)) return 0;
        seen = atomic_load(&team->request);
        join_in(team, me);
        atomic_fetch_sub(&team->at_work, 1);
    }
}

static struct team *make_team(struct worker *w) {
    struct team *team = calloc(1, sizeof *team);
    team->job = w->job;
    team->fd = w->fd;
    team->helpers = helpers_of(w->job);
    if (is(w->job, "gathered")) {
        load_gather();
        CU(cuMemHostAlloc((void **)&team->board, 2 * COPIED, CU_MEMHOSTALLOC_DEVICEMAP));
        memset((void *)team->board, 0, 2 * COPIED);
        CU(cuMemHostGetDevicePointer(&team->board_on_gpu, (void *)team->board, 0));
    }
    for (int i = 0; i <= team->helpers; i++) {
        struct member *member = &team->members[i];
        member->team = team;
        member->slabs = w->pinned + (is(w->job, "gathered") ? 0 : 2 * i * cut_of(w->job));
        CU(cuStreamCreate(&member->stream, CU_STREAM_NON_BLOCKING));
        for (int k = 0; k < 2; k++) CU(cuEventCreate(&member->done[k], CU_EVENT_DISABLE_TIMING));
        if (i && pthread_create(&member->thread, 0, is(w->job, "gathered") ? help_gather : help, member)) die("pthread_create", 0);
    }
    return team;
}

static void end_team(struct team *team) {
    while (is(team->job, "gathered") && atomic_load(&team->at_work) > 0) __builtin_ia32_pause();
    atomic_store(&team->ends, 1);
    atomic_fetch_add(&team->word, 1);
    futex_wake(&team->word, MOST_HELPERS);
    for (int i = 0; i <= team->helpers; i++) {
        if (i) pthread_join(team->members[i].thread, 0);
        for (int k = 0; k < 2; k++) CU(cuEventDestroy(team->members[i].done[k]));
        CU(cuStreamDestroy(team->members[i].stream));
    }
    if (team->board) CU(cuMemFreeHost((void *)team->board));
    free(team);
}

static void call(struct team *team, size_t at) {
    team->at = at;
    atomic_store(&team->at_work, team->helpers);
    atomic_store(&team->next_piece, 0);
    atomic_fetch_add(&team->request, 1);
    join_in(team, &team->members[0]);
    while (atomic_load(&team->at_work) > 0) __builtin_ia32_pause();
}

static CUstream own_stream(void) {
    static __thread CUstream stream;
    if (!stream) CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static size_t setting(const char *name, size_t otherwise) { return getenv(name) ? strtoul(getenv(name), 0, 0) : otherwise; }


// Sleeps about half as long as the copy takes between looks: each look takes a lock of the driver.
static void poll_copy(CUevent done, size_t length) {
    struct timespec pause = {0, length / 100 < 2000 ? 2000 : length / 100 > 20000 ? 20000 : length / 100};
    CUresult r;
    while ((r = cuEventQuery(done)) == CUDA_ERROR_NOT_READY) nanosleep(&pause, 0);
    CU(r);
}

// A batch: its bytes are claimed in order, in shares that shrink towards the end.
static struct {
    atomic_size_t next, done;
    size_t from, bytes;
    atomic_int finished, word[MOST_THREADS];
    int over;
} pool;

static size_t pool_claim(const struct job *job, size_t *length, size_t most) {
    size_t least = setting("LEAST", 128 << 10), at = atomic_load(&pool.next);
    do {
        if (at >= pool.bytes) return SIZE_MAX;
        size_t share = (pool.bytes - at) / (setting("SHARES", 1) * job->threads);
        *length = share < least ? least : share > most ? most : share;
        *length = (*length + job->request - 1) / job->request * job->request;
        if (*length > pool.bytes - at) *length = pool.bytes - at;
    } while (!atomic_compare_exchange_weak(&pool.next, &at, at + *length));
    return at;
}

static void pool_serve(struct worker *w, CUevent *done) {
    const struct job *job = w->job;
    size_t length, held[2] = {0, 0}, at, k = 0, mine = 0;
    while ((at = pool_claim(job, &length, k ? PIECE : setting("FIRST", 512 << 10))) != SIZE_MAX) {
        int slot = k++ % 2;
        if (held[slot]) poll_copy(done[slot], held[slot]);
        mine += length;
        transfer(0, w->fd, w->pinned + slot * PIECE, length, job->offset + pool.from + at);
        CU(cuMemcpyHtoDAsync(device + at, w->pinned + slot * PIECE, length, own_stream()));
        CU(cuEventRecord(done[slot], own_stream()));
        held[slot] = length;
    }
    for (int slot = 0; slot < 2; slot++)
        if (held[slot]) poll_copy(done[slot], held[slot]);
    if (mine && atomic_fetch_add(&pool.done, mine) + mine == pool.bytes) {
        atomic_store(&pool.finished, 1);
        futex_wake(&pool.finished, 1);
    }
}

// The first thread submits batches and waits for each; HELP=1 has it serve, too. The others sleep between batches.
static void pooled_batches(struct worker *w) {
    const struct job *job = w->job;
    CUevent done[2];
    prctl(PR_SET_TIMERSLACK, 1L);
    for (int i = 0; i < 2; i++) CU(cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    if (w->id > 0) {
        for (int seen = 0;; pool_serve(w, done)) {
            while (atomic_load(&pool.word[w->id]) == seen) futex_wait(&pool.word[w->id], seen);
            seen = atomic_load(&pool.word[w->id]);
            if (pool.over) break;
        }
    } else {
        for (size_t from = 0; from < job->bytes; from += BATCH * job->request) {
            pool.from = from;
            pool.bytes = BATCH * job->request;
            atomic_store(&pool.finished, 0);
            atomic_store(&pool.done, 0);
            atomic_store(&pool.next, 0);
            for (int i = 1; i < job->threads; i++) {
                atomic_fetch_add(&pool.word[i], 1);
                futex_wake(&pool.word[i], 1);
            }
            if (setting("HELP", 0)) pool_serve(w, done);
            while (!atomic_load(&pool.finished)) futex_wait(&pool.finished, 0);
        }
        pool.over = 1;
        for (int i = 1; i < job->threads; i++) {
            atomic_fetch_add(&pool.word[i], 1);
            futex_wake(&pool.word[i], 1);
        }
    }
    for (int i = 0; i < 2; i++) CU(cuEventDestroy(done[i]));
}

// The requests of a stream: threads fill a ring of slabs in order, and the stream copies each slab once its word is set. Behind the
// words that threads set are those that the stream sets after each copy.
static struct {
    atomic_size_t next, queued;
    CUstream stream;
    volatile uint32_t *words;
    CUdeviceptr words_on_gpu;
    char *slabs;
    size_t piece, ring;
} queue;

static void await_word(size_t word, size_t value) {
    while (queue.words[word] < value) __builtin_ia32_pause();
}

static void queued_requests(struct worker *w) {
    const struct job *job = w->job;
    size_t ring = queue.ring, pieces = job->bytes / queue.piece, each = job->request / queue.piece;
    if (w->id == 0) {
        for (size_t p = 0; p < pieces; p++) {
            size_t slot = p % ring;
            if (p >= QUEUED * each) await_word(ring + (p - QUEUED * each) % ring, (p - QUEUED * each) / ring + 1);
            CU(cuStreamWaitValue32(queue.stream, queue.words_on_gpu + 4 * slot, p / ring + 1, CU_STREAM_WAIT_VALUE_GEQ));
            CU(cuMemcpyHtoDAsync(device + p * queue.piece, queue.slabs + slot * queue.piece, queue.piece, queue.stream));
            CU(cuStreamWriteValue32(queue.stream, queue.words_on_gpu + 4 * (ring + slot), p / ring + 1, 0));
            atomic_store(&queue.queued, p + 1);
        }
        CU(cuStreamSynchronize(queue.stream));
        return;
    }
    for (size_t p; (p = atomic_fetch_add(&queue.next, 1)) < pieces;) {
        size_t slot = p % ring, before = p / each * each - 1;
        while (atomic_load(&queue.queued) <= p) __builtin_ia32_pause();
        await_word(ring + slot, p / ring);
        if (!setting("AHEAD", 1) && p >= each) await_word(ring + before % ring, before / ring + 1);
        transfer(0, w->fd, queue.slabs + slot * queue.piece, queue.piece, job->offset + p * queue.piece);
        queue.words[slot] = p / ring + 1;
    }
}
#endif

static void one_request(struct worker *w, size_t at, size_t length) {
    const struct job *job = w->job;
#ifdef GPU
    if (w->team) {
        is(job, "gathered") ? call_gathered(w->team, at) : call(w->team, at);
        return;
    }
#endif
#ifdef CUFILE
    if (use_cufile) {
        CUfileHandle_t handle = w->fd == direct ? direct_handle : buffered_handle;
        size_t place = is(job, "latency") || is(job, "random") ? (size_t)w->id * job->request : at;
        size_t done = 0;
        while (done < length) {
            size_t part = length - done > ((size_t)1 << 30) ? (size_t)1 << 30 : length - done;
            ssize_t n = w->write ? cuFileWrite(handle, (void *)device, part, job->offset + at + done, place + done)
                                 : cuFileRead(handle, (void *)device, part, job->offset + at + done, place + done);
            if (n <= 0) die(w->write ? "cuFileWrite" : "cuFileRead", (int)n);
            done += n;
        }
        return;
    }
#endif
#ifdef GPU
    if (on_gpu && (is(job, "latency") || is(job, "random"))) {
        transfer(0, w->fd, w->pinned, length, job->offset + at);
        CU(cuMemcpyHtoDAsync(device + (size_t)w->id * job->request, w->pinned, length, own_stream()));
        CU(cuStreamSynchronize(own_stream()));
        return;
    }
#endif
    if (is(job, "hot") || is(job, "fresh") || (is(job, "wcache") && !on_gpu))
        transfer(w->write, w->fd, memory + at, length, job->offset + at);
    else
        transfer(w->write, w->fd, w->pinned, length, job->offset + at);
}

static int is_cold_batch(const struct job *job) { return is(job, "cbatch") || is(job, "sbatch") || is(job, "fbatch"); }
static int is_batch(const struct job *job) { return is(job, "batch") || is_cold_batch(job); }
#ifdef GPU
static int is_copied_batch(const struct job *job) { return on_gpu && (is(job, "batch") || is(job, "fbatch")); }
#endif

// Where the file is read: in order, or each place once in an order that no read-ahead follows (places: a power of two).
static size_t batch_offset(const struct job *job, size_t index) {
    size_t places = job->bytes / job->request;
    return (is(job, "sbatch") || is(job, "fbatch") ? index * 2654435761u : index) % places * job->request;
}

// Where the threads of a finished batch wait for each other.
static pthread_barrier_t batch_end;

// Batches of BATCH reads, one after the other through the file.
static void batches(struct worker *w) {
    const struct job *job = w->job;
    int rounds = w->ops / BATCH;
#ifdef CUFILE
    if (use_cufile) {
        CUfileBatchHandle_t batch;
        static CUfileIOParams_t entries[BATCH];
        static CUfileIOEvents_t events[BATCH];
        CUfileError_t e = cuFileBatchIOSetUp(&batch, BATCH);
        if (e.err) die("cuFileBatchIOSetUp", e.err);
        for (int round = 0; round < rounds; round++) {
            memset(entries, 0, sizeof entries);
            for (int i = 0; i < BATCH; i++) {
                entries[i].mode = CUFILE_BATCH;
                entries[i].fh = w->fd == direct ? direct_handle : buffered_handle;
                entries[i].u.batch.devPtr_base = (void *)device;
                entries[i].u.batch.devPtr_offset = (off_t)i * job->request;
                entries[i].u.batch.file_offset = job->offset + batch_offset(job, (size_t)round * BATCH + i);
                entries[i].u.batch.size = job->request;
                entries[i].opcode = CUFILE_READ;
                entries[i].cookie = (void *)(size_t)i;
            }
            e = cuFileBatchIOSubmit(batch, BATCH, entries, 0);
            if (e.err) die("cuFileBatchIOSubmit", e.err);
            for (unsigned done = 0; done < BATCH;) {
                unsigned count = BATCH - done;
                e = cuFileBatchIOGetStatus(batch, count, &count, events, NULL);
                if (e.err) die("cuFileBatchIOGetStatus", e.err);
                for (unsigned i = 0; i < count; i++)
                    if (events[i].status != CUFILE_COMPLETE || events[i].ret != job->request) die("batch entry", (int)events[i].status);
                done += count;
            }
        }
        cuFileBatchIODestroy(batch);
        return;
    }
#endif
    for (int round = 0; round < rounds; round++) {
        for (int i = is_cold_batch(job) ? w->id : 0; i < BATCH; i += is_cold_batch(job) ? job->threads : 1) {
            size_t at = batch_offset(job, (size_t)round * BATCH + i);
            transfer(0, w->fd, w->pinned + i * job->request, job->request, job->offset + at);
#ifdef GPU
            if (is_copied_batch(job))
                CU(cuMemcpyHtoDAsync(device + i * job->request, w->pinned + i * job->request, job->request, own_stream()));
#endif
        }
#ifdef GPU
        if (is_copied_batch(job)) CU(cuStreamSynchronize(own_stream()));
#endif
        if (is(job, "fbatch")) pthread_barrier_wait(&batch_end);
    }
}

#ifdef CUFILE
// Reads queued on one stream, QUEUED at a time.
static void stream_reads(struct worker *w) {
    const struct job *job = w->job;
    static size_t size;
    static off_t at[QUEUED];
    static ssize_t done[QUEUED];
    static int registered;
    CUstream stream = own_stream();
    size = job->request;
    if (!registered) {
        CUfileError_t e = cuFileStreamRegister(stream, 0);
        if (e.err) die("cuFileStreamRegister", e.err);
        registered = 1;
    }
    size_t count = job->bytes / job->request;
    for (size_t r = 0; r < count;) {
        int queued = 0;
        for (; queued < QUEUED && r < count; queued++, r++) {
            at[queued] = r * job->request;
            done[queued] = 0;
            CUfileError_t e = cuFileReadAsync(buffered_handle, (void *)device, &size, &at[queued], &at[queued], &done[queued], stream);
            if (e.err) die("cuFileReadAsync", e.err);
        }
        CU(cuStreamSynchronize(stream));
        for (int i = 0; i < queued; i++)
            if (done[i] != (ssize_t)size) die("result of cuFileReadAsync", (int)done[i]);
    }
    cuFileStreamDeregister(stream);
    registered = 0;
}
#endif

// The half that is cached, and the one that the disk has.
static atomic_size_t next_of_half[2];

// Threads begin with one half or the other, and help with the other one when nothing is left of theirs.
static void halves(struct worker *w) {
    const struct job *job = w->job;
    size_t half = job->bytes / 2;
    for (int turn = 0; turn < 2; turn++) {
        int cold = (w->id + turn + 1) & 1;
        for (size_t at; (at = atomic_fetch_add(&next_of_half[cold], job->request)) < half;) {
            size_t length = at + job->request <= half ? job->request : half - at, place = cold * half + at;
            transfer(0, cold ? direct : buffered, on_gpu ? w->pinned : memory + place, length, job->offset + place);
        }
    }
}

static void requests(struct worker *w) {
    const struct job *job = w->job;
    if (is(job, "halves")) {
        halves(w);
        return;
    }
#ifdef GPU
    if (on_gpu && !use_cufile && (is(job, "hot") || is(job, "stream") || is(job, "wcache"))) {
        pipeline(w);
        return;
    }
    if (is(job, "pool") || is(job, "queued")) {
        is(job, "pool") ? pooled_batches(w) : queued_requests(w);
        return;
    }
#endif
    if (is_batch(job)) {
        batches(w);
        return;
    }
#ifdef CUFILE
    if (use_cufile && is(job, "stream")) {
        stream_reads(w);
        return;
    }
#endif
    size_t count = (job->bytes + job->request - 1) / job->request;
    if (is(job, "latency")) {
        double start = now();
        for (int i = 0; i < w->ops; i++) one_request(w, (i % count) * job->request, job->request);
        w->inside = now() - start;
    } else if (is(job, "random")) {
        uint64_t x = 88172645463325252ull + 1000003ull * w->id;
        size_t places = (job->bytes - job->request) / 4096 + 1;
        for (int i = 0; i < w->ops; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            one_request(w, x % places * 4096, job->request);
        }
    } else {
        // consecutive shares, as gds io divides a file
        size_t from = count * w->id / job->threads, to = count * (w->id + 1) / job->threads;
        for (size_t r = from; r < to; r++) {
            size_t at = r * job->request;
            one_request(w, at, at + job->request <= job->bytes ? job->request : job->bytes - at);
        }
    }
}

static void *work(void *argument) {
    struct worker *w = argument;
#ifdef GPU
    if (on_gpu) CU(cuCtxSetCurrent(context));
    if (on_gpu && is(w->job, "fbatch")) own_stream();
    if (is(w->job, "calls") || is(w->job, "gathered")) {
        prctl(PR_SET_TIMERSLACK, 1L);
        w->team = make_team(w);
    }
#endif
    pthread_barrier_wait(w->gate);
    w->begin = now();
    requests(w);
    w->end = now();
#ifdef GPU
    if (w->team) end_team(w->team);
#endif
    return 0;
}

#ifdef GPU
static void begin_together(const struct job *job, char *pinned, size_t per_thread) {
    memset(&pool, 0, sizeof pool);
    if (!is(job, "queued")) return;
    queue.slabs = pinned;
    queue.piece = job->request < setting("PIECE_BYTES", PIECE) ? job->request : setting("PIECE_BYTES", PIECE);
    queue.ring = per_thread * job->threads / queue.piece;
    if (queue.ring > setting("RING", 24)) queue.ring = setting("RING", 24);
    if (!queue.words) {
        CU(cuMemHostAlloc((void **)&queue.words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
        CU(cuMemHostGetDevicePointer(&queue.words_on_gpu, (void *)queue.words, 0));
        CU(cuStreamCreate(&queue.stream, CU_STREAM_NON_BLOCKING));
    }
    memset((void *)queue.words, 0, 4096);
    atomic_store(&queue.next, 0);
    atomic_store(&queue.queued, 0);
}
#endif

// Seconds of processor time of the last pass.
static double used;

// Seconds of one pass: from the beginning of the first thread to the end of the last, or inside of requests, as gds io counts.
static double pass(const struct job *job, char *pinned, size_t per_thread, int write, int fd, int ops) {
    pthread_t threads[MOST_THREADS];
    struct worker workers[MOST_THREADS];
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, 0, job->threads);
#ifdef GPU
    next_piece = 0;
    begin_together(job, pinned, per_thread);
#endif
    next_of_half[0] = next_of_half[1] = 0;
    double used_before = cpu();
    for (int i = 0; i < job->threads; i++) {
        workers[i] = (struct worker){job, i, write, fd, ops, pinned + i * per_thread, &gate, 0, 0, 0, 0};
        if (pthread_create(&threads[i], 0, work, &workers[i])) die("pthread_create", 0);
    }
    double first = 0, last = 0;
    for (int i = 0; i < job->threads; i++) {
        pthread_join(threads[i], 0);
        if (i == 0 || workers[i].begin < first) first = workers[i].begin;
        if (i == 0 || workers[i].end > last) last = workers[i].end;
    }
    used = cpu() - used_before;
    pthread_barrier_destroy(&gate);
    return is(job, "latency") ? workers[0].inside : last - first;
}

static void drop(void) {
    fdatasync(buffered);
    posix_fadvise(buffered, 0, 0, POSIX_FADV_DONTNEED);
}

static void warm(const struct job *job) {
    struct { uint64_t offset, length; } range = {job->offset, job->bytes};
    struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } pages;
    memset(&pages, 0, sizeof pages);
    if (syscall(451 /* cachestat */, buffered, &range, &pages, 0) == 0 && pages.cached * 4096 >= job->bytes) return;
    char *b = malloc(PIECE);
    for (size_t o = 0; o < job->bytes; o += PIECE)
        if (pread(buffered, b, PIECE, job->offset + o) < 0) die("pread", 0);
    free(b);
}

static void create(const struct job *job) {
    size_t block = 16 << 20;
    uint64_t *b = aligned_alloc(4096, block), x = 88172645463325252ull;
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    if (fd < 0) die(path, 0);
    double start = now();
    for (size_t o = 0; o < job->bytes; o += block) {
        for (size_t i = 0; i < block / 8; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17, b[i] = x;
        size_t n = job->bytes - o < block ? job->bytes - o : block;
        transfer(1, fd, (char *)b, n, o);
    }
    fdatasync(fd);
    printf("%s %.3f\n", job->name, job->bytes / (now() - start) / 1e9);
    close(fd);
    free(b);
}

static void run(const struct job *asked) {
    if (is(asked, "create")) {
        create(asked);
        return;
    }
    struct job changed = *asked;
    const struct job *job = &changed;
    if (is(asked, "mixed")) {
        strcpy(changed.kind, "cold");
        changed.bytes = asked->bytes / 2;
        changed.offset = asked->offset + asked->bytes / 2;
    }
    int first = is(asked, "first"), anew = is(asked, "anew"), tuned = is(asked, "tuned") || first || anew;
    if (tuned) strcpy(changed.kind, "hot");
#ifdef GPU
    slabs = tuned ? 2 : getenv("SLABS") ? atoi(getenv("SLABS")) : DEPTH;
    if (slabs < 1 || slabs > DEPTH) slabs = DEPTH;
    sleeps = tuned || is(asked, "calls") || is(asked, "gathered") || getenv("SLEEP");
#endif
    int write = job->kind[0] == 'w', past = is(job, "cold") || is_cold_batch(job) || is(job, "wdirect");
    if (buffered < 0) {
        buffered = open(path, O_RDWR);
        if (buffered < 0) die(path, 0);
        direct = open(path, O_RDWR | O_DIRECT);
        if (direct < 0) direct = open(path, O_RDWR); // a file system without
#ifdef CUFILE
        if (use_cufile) {
            CUfileDescr_t d;
            memset(&d, 0, sizeof d);
            d.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
            d.handle.fd = buffered;
            CUfileError_t e = cuFileHandleRegister(&buffered_handle, &d);
            if (e.err) die("cuFileHandleRegister", e.err);
            d.handle.fd = direct;
            e = cuFileHandleRegister(&direct_handle, &d);
            if (e.err) die("cuFileHandleRegister O_DIRECT", e.err);
        }
#endif
    }
    int fd = past ? direct : buffered;
    size_t per_thread = past || is(job, "bcold") || is(job, "halves") || is(job, "latency") || is(job, "random") ? job->request : (tuned ? 2 : DEPTH) * PIECE;
    if (is_batch(job)) per_thread = BATCH * job->request;
#ifdef GPU
    if (is(job, "gathered")) per_thread = job->request;
    if (is(job, "calls")) per_thread = (helpers_of(job) + 1) * 2 * cut_of(job);
#endif
    per_thread = (per_thread + 4095) & ~(size_t)4095;
    char *pinned;
    if (first) warm(job);
    double begun = now();
#ifdef GPU
    if (on_gpu) {
        pinned = pinned_memory(per_thread * job->threads);
        size_t need = is(job, "latency") || is(job, "random") ? job->request * job->threads : job->bytes;
        if (is_batch(job)) need = BATCH * job->request;
        if (device_bytes < need) {
            if (device_bytes) CU(cuMemFree(device));
            CU(cuMemAlloc(&device, need));
            device_bytes = need;
        }
    } else
#endif
    {
        pinned = host_memory(per_thread * job->threads);
        memset(pinned, 1, per_thread * job->threads);
        if (is(job, "fresh") && memory_bytes) {
            munmap(memory, memory_bytes);
            memory_bytes = 0;
        }
        if (memory_bytes < job->bytes) {
            if (memory_bytes) munmap(memory, memory_bytes);
            memory = host_memory(job->bytes);
            memory_bytes = job->bytes;
            if (!is(job, "fresh")) memset(memory, 1, memory_bytes);
        }
    }
    // Of host memory as much of the file as gds io takes: what fits into the caches is faster.
    int ops = is(job, "random") ? 4000 : job->request >= 1 << 20 ? 400 : 8000;
    if (!on_gpu && (is(job, "random") || is(job, "latency")) && job->bytes / job->request / job->threads > (size_t)ops)
        ops = job->bytes / job->request / job->threads;
    if (is_batch(job)) ops = job->bytes / job->request / BATCH * BATCH;
    double seconds;
    if (is(job, "halves")) {
        struct job first_half = *job;
        first_half.bytes /= 2;
        drop();
        warm(&first_half);
        posix_fadvise(buffered, job->offset + first_half.bytes, 0, POSIX_FADV_DONTNEED);
        seconds = pass(job, pinned, per_thread, write, fd, ops);
    } else if (is(job, "cold") || is(job, "bcold") || is_cold_batch(job)) {
        if (is(job, "fbatch")) pthread_barrier_init(&batch_end, NULL, job->threads);
        drop();
        seconds = pass(job, pinned, per_thread, write, fd, ops);
        if (is(job, "fbatch")) pthread_barrier_destroy(&batch_end);
    } else if (first) {
        pass(job, pinned, per_thread, write, fd, ops);
        seconds = now() - begun;
    } else {
        if (!write) warm(job);
        pass(job, pinned, per_thread, write, fd, ops);
        if (is(job, "fresh")) madvise(memory, memory_bytes, MADV_DONTNEED);
#ifdef GPU
        if (anew) CU(cuMemFree(device));
        begun = now();
        if (anew) CU(cuMemAlloc(&device, device_bytes));
#endif
        seconds = pass(job, pinned, per_thread, write, fd, ops);
        if (anew) seconds = now() - begun;
    }
    if (is(job, "latency") || is_batch(job))
        printf("%s %.3f\n", job->name, seconds / ops * 1e6);
    else if (is(job, "random"))
        printf("%s %.3f %.0f\n", job->name, (double)ops * job->threads * job->request / seconds / 1e9,
               used / ops / job->threads / job->request * 1e12);
    else
        printf("%s %.3f %.0f\n", job->name, asked->bytes / seconds / 1e9, used / asked->bytes * 1e12);
    fflush(stdout);
#ifdef GPU
    if (on_gpu) CU(cuMemHostUnregister(pinned));
#endif
    munmap(pinned, per_thread * job->threads);
}

#ifdef CUFILE
// For a process that has all of it already: reads one after the other on the calling thread, from a place on; 0 if all were whole.
int limits_reads(CUfileHandle_t handle, void *to, size_t request, size_t places, long first, long count) {
    for (long i = first; i < first + count; i++)
        if (cuFileRead(handle, to, request, (i % places) * request, 0) != (ssize_t)request) return 1;
    return 0;
}
#endif

static void one(const char *text) {
    struct job job;
    memset(&job, 0, sizeof job);
    int fields =
        sscanf(text, "%63[^:]:%15[^:]:%zu:%d:%zu:%zu", job.name, job.kind, &job.bytes, &job.threads, &job.request, &job.offset);
    if (fields < 5 || job.threads < 1 || job.threads > MOST_THREADS || job.request < 1 || job.bytes < job.request) {
        fprintf(stderr, "limits: bad case %s\n", text);
        exit(2);
    }
    run(&job);
}

int main(int count, char **words) {
    if (count < 5) {
        fprintf(stderr, "usage: limits gpu|host limit|cufile FILE name:kind:bytes:threads:request[:offset]...\n");
        return 2;
    }
    on_gpu = !strcmp(words[1], "gpu");
    use_cufile = !strcmp(words[2], "cufile");
    path = words[3];
#ifdef GPU
    if (on_gpu) {
        CUdevice gpu;
        CU(cuInit(0));
        CU(cuDeviceGet(&gpu, 0));
        CU(cuDevicePrimaryCtxRetain(&context, gpu));
        CU(cuCtxSetCurrent(context));
    }
#else
    if (on_gpu) {
        fprintf(stderr, "limits: built without a GPU\n");
        return 2;
    }
#endif
    if (use_cufile) {
#ifdef CUFILE
        CUfileError_t e = cuFileDriverOpen();
        if (e.err) die("cuFileDriverOpen", e.err);
#else
        fprintf(stderr, "limits: built without libcufile\n");
        return 2;
#endif
    }
    char line[256];
    for (int i = 4; i < count; i++) {
        if (strcmp(words[i], "-")) {
            one(words[i]);
            continue;
        }
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\n")] = 0;
            one(line);
        }
    }
    return 0;
}
