package io.gds4j.rdma;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What verbs promise, on a double and on a device: two ends in this process. */
abstract class RdmaContract {
    static final int SIZE = 1 << 20;
    static final Set<RdmaAccess> ALL = EnumSet.of(
            RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE, RdmaAccess.REMOTE_ATOMIC,
            RdmaAccess.WINDOW_BIND);
    private static final Set<RdmaAccess> READ_WRITE = EnumSet.of(RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE);
    static final Duration SOON = Duration.ofSeconds(20);

    final NativeMemoryAllocator allocator = new NativeMemoryAllocator(
            FfmPosix.instance(), new CudaAvailability.Unavailable("none", "none"));
    MemoryAllocation here;
    MemoryAllocation there;
    ProtectionDomain domain;
    MemoryRegion source;
    MemoryRegion target;
    QueuePair requester;
    QueuePair responder;

    abstract TestDevice tested();

    abstract int randomOperations();

    abstract boolean windowsHaveBounds();

    @BeforeEach
    void connect() {
        here = allocator.allocate(MemoryKind.HOST, SIZE);
        there = allocator.allocate(MemoryKind.HOST, SIZE);
        domain = tested().open();
        source = domain.register(here.range(), EnumSet.of(RdmaAccess.LOCAL_WRITE));
        target = domain.register(there.range(), ALL);
        for (int i = 0; i < SIZE; i++) {
            bytes(here).set(JAVA_BYTE, i, (byte) (i * 31 >> 3));
        }
        renew(QueuePairType.RC);
    }

    @AfterEach
    void disconnect() {
        for (MemoryWindow window : target.windows()) {
            window.close();
        }
        requester.close();
        responder.close();
        source.close();
        target.close();
        domain.close();
        here.close();
        there.close();
        allocator.close();
    }

    final void renew(QueuePairType type) {
        if (requester != null) {
            requester.close();
            responder.close();
        }
        requester = queuePair(domain, type);
        responder = queuePair(domain, type);
        requester.connect(responder.local());
        responder.connect(requester.local());
    }

    final QueuePair queuePair(ProtectionDomain of, QueuePairType type) {
        return of.queuePair().type(type).port(1, tested().gidIndex()).depth(32, 32).mtu(1024).build();
    }

    static MemorySegment bytes(MemoryAllocation memory) {
        return memory.range().segment().orElseThrow();
    }

    static Completion next(QueuePair queuePair) {
        return queuePair.await(SOON).orElseThrow(() -> new AssertionError("no completion"));
    }

    /** Writes 500 bytes; returns how that ended, and checks that nothing arrived if it failed. */
    private CompletionStatus write(RemoteMemory remote) {
        return write(remote, requester.type() == QueuePairType.RC);
    }

    private CompletionStatus write(RemoteMemory remote, boolean answered) {
        byte[] before = bytes(there).toArray(JAVA_BYTE);
        requester.write(1, source.slice(3, (int) remote.length()), remote);
        Completion completion = next(requester);
        assertThat(completion.operation()).isEqualTo(RdmaOperation.WRITE);
        if (!completion.succeeded()) {
            assertThat(bytes(there).toArray(JAVA_BYTE)).isEqualTo(before);
        } else if (answered) {
            long at = remote.address() - target.ioAddress();
            assertThat(bytes(there).asSlice(at, remote.length()).toArray(JAVA_BYTE))
                    .isEqualTo(bytes(here).asSlice(3, remote.length()).toArray(JAVA_BYTE));
        }
        return completion.status();
    }

    private void denied(RemoteMemory remote) {
        assertThat(write(remote)).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        assertThat(requester.isReady()).isFalse();
        // The target's process goes on, and a new queue pair works.
        renew(QueuePairType.RC);
        assertThat(write(target.remote().slice(100, 500))).isEqualTo(CompletionStatus.SUCCESS);
    }

    private void denied(RemoteMemory remote, MemoryWindow bound) {
        assertThat(write(remote)).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        bound.close();
        renew(QueuePairType.RC);
        assertThat(write(target.remote().slice(100, 500))).isEqualTo(CompletionStatus.SUCCESS);
    }

    // ---- bytes

    @Test
    void everyOperationMovesItsBytes() {
        assertThat(write(target.remote().slice(4099, 777))).isEqualTo(CompletionStatus.SUCCESS);
        assertThat(write(target.remote().slice(0, SIZE / 2))).isEqualTo(CompletionStatus.SUCCESS);
        requester.read(2, source.slice(SIZE / 2, 5000), target.remote().slice(1, 5000));
        assertThat(next(requester).check().id()).isEqualTo(2);
        assertThat(bytes(here).asSlice(SIZE / 2, 5000).mismatch(bytes(there).asSlice(1, 5000))).isEqualTo(-1);
        requester.writeInline(3, new byte[]{1, 2, 3}, target.remote().slice(9, 3));
        next(requester).check();
        assertThat(bytes(there).asSlice(9, 3).toArray(JAVA_BYTE)).containsExactly(1, 2, 3);

        responder.receive(8, target.slice(0, 16), target.slice(600_000, 4096));
        requester.send(4, source.slice(0, 16), source.slice(4096, 3000));
        next(requester).check();
        Completion received = next(responder).check();
        assertThat(received.operation()).isEqualTo(RdmaOperation.RECEIVE);
        assertThat(received.id()).isEqualTo(8);
        assertThat(received.bytes()).isEqualTo(3016);
        assertThat(bytes(there).asSlice(600_000, 3000).mismatch(bytes(here).asSlice(4096, 3000))).isEqualTo(-1);
    }

    @Test
    void atomicOperationsReturnTheValueBefore() {
        bytes(there).set(JAVA_LONG, 16, 10);
        RemoteMemory word = target.remote().slice(16, 8);
        requester.fetchAdd(1, source.slice(0, 8), word, 5);
        next(requester).check();
        assertThat(bytes(here).get(JAVA_LONG, 0)).isEqualTo(10);
        requester.compareSwap(2, source.slice(8, 8), word, 15, 77);
        next(requester).check();
        assertThat(bytes(here).get(JAVA_LONG, 8)).isEqualTo(15);
        requester.compareSwap(3, source.slice(8, 8), word, 15, 99);
        next(requester).check();
        assertThat(bytes(here).get(JAVA_LONG, 8)).isEqualTo(77);
        assertThat(bytes(there).get(JAVA_LONG, 16)).isEqualTo(77);
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL,
                () -> requester.fetchAdd(1, source.slice(0, 8), target.remote().slice(20, 8), 5));
    }

    // ---- rights and ranges

    @Test
    void regionIsExactToTheByte() {
        MemoryRegion part = domain.register(there.range().slice(4099, 777), ALL);
        RemoteMemory whole = part.remote();
        assertThat(write(whole)).isEqualTo(CompletionStatus.SUCCESS);
        denied(new RemoteMemory(whole.address() - 1, 500, whole.key()));
        denied(new RemoteMemory(whole.address() + 278, 500, whole.key()));
        requester.read(1, source.slice(0, 778), new RemoteMemory(whole.address(), 778, whole.key()));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        renew(QueuePairType.RC);
        part.close();
        denied(whole.slice(0, 500));
    }

    @Test
    void rightThatIsNotThereIsRefused() {
        MemoryRegion readable =
                domain.register(there.range(), EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ));
        requester.read(1, source.slice(0, 500), readable.remote().slice(0, 500));
        next(requester).check();
        denied(readable.remote().slice(0, 500));
        MemoryRegion none = domain.register(there.range(), Set.of());
        denied(none.remote().slice(0, 500));
        denied(new RemoteMemory(target.ioAddress(), 500, 0xdeadbe));
        readable.close();
        none.close();
    }

    @Test
    void regionOfAnotherDomainIsRefused() {
        try (ProtectionDomain other = tested().open();
                MemoryRegion foreign = other.register(there.range(), ALL)) {
            denied(foreign.remote().slice(0, 500));
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, Errno.EINVAL,
                    () -> requester.send(1, foreign.slice(0, 8)));
        }
    }

    @Test
    void unreliableRequesterSeesSuccessAndMemoryIsUnchanged() {
        renew(QueuePairType.UC);
        byte[] before = bytes(there).toArray(JAVA_BYTE);
        assertThat(write(new RemoteMemory(target.ioAddress(), 500, 0xdeadbe), false))
                .isEqualTo(CompletionStatus.SUCCESS);
        assertThat(bytes(there).toArray(JAVA_BYTE)).isEqualTo(before);
    }

    @Test
    void sharedRegionsHaveRightsOfTheirOwn() {
        MemoryRegion readable =
                domain.register(there.range(), EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ));
        assertThat(readable.remoteKey()).isNotEqualTo(target.remoteKey());
        assertThat(write(target.remote().slice(0, 500))).isEqualTo(CompletionStatus.SUCCESS);
        requester.read(1, source.slice(9000, 500), readable.remote().slice(0, 500));
        next(requester).check();
        assertThat(bytes(here).asSlice(9000, 500).mismatch(bytes(here).asSlice(3, 500))).isEqualTo(-1);
        readable.close();
        assertThat(write(target.remote().slice(0, 500))).isEqualTo(CompletionStatus.SUCCESS);
    }

    // ---- windows

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void eachBindHasANewKeyAndKillsTheLast(WindowType type) {
        MemoryWindow window = domain.window(type);
        RemoteMemory first = window.bind(responder, target, 40_001, 500, READ_WRITE);
        assertThat(first.length()).isEqualTo(500);
        assertThat(target.windows()).containsExactly(window);
        assertThat(write(first)).isEqualTo(CompletionStatus.SUCCESS);
        RemoteMemory second = window.bind(responder, target, 90_000, 500, READ_WRITE);
        assertThat(second.key()).isNotEqualTo(first.key());
        assertThat(write(second)).isEqualTo(CompletionStatus.SUCCESS);
        denied(first, window);
        assertThat(window.remote()).isEmpty();
        assertThat(target.windows()).isEmpty();
    }

    @Test
    void windowOfTypeOneIsBoundAgainAfterItsQueuePairHasFailed() {
        MemoryWindow window = domain.window(WindowType.TYPE_1);
        RemoteMemory first = window.bind(responder, target, 40_001, 500, READ_WRITE);
        denied(new RemoteMemory(target.ioAddress(), 500, 0xdeadbe));
        RemoteMemory second = window.bind(responder, target, 90_000, 500, READ_WRITE);
        assertThat(write(second)).isEqualTo(CompletionStatus.SUCCESS);
        denied(first, window);
    }

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void invalidatedKeyIsDead(WindowType type) {
        MemoryWindow window = domain.window(type);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        window.bind(responder, target, 40_001, 0, Set.of());
        assertThat(window.remote()).isEmpty();
        denied(remote, window);
        window = domain.window(type);
        remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        window.close();
        assertThat(target.windows()).isEmpty();
        denied(remote);
    }

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void windowThatIsClosedUnderRunningWritesEndsThem(WindowType type) throws Exception {
        MemoryWindow window = domain.window(type);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        CountDownLatch running = new CountDownLatch(5);
        FutureTask<Completion> last = new FutureTask<>(() -> {
            while (true) {
                requester.write(1, source.slice(0, 500), remote);
                Completion completion = next(requester);
                if (!completion.succeeded()) {
                    return completion;
                }
                running.countDown();
            }
        });
        Thread.ofPlatform().start(last);
        assertThat(running.await(20, TimeUnit.SECONDS)).isTrue();
        window.close();
        assertThat(last.get(20, TimeUnit.SECONDS).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        assertThat(target.windows()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void windowHasFewerRightsThanItsRegion(WindowType type) {
        MemoryWindow window = domain.window(type);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, EnumSet.of(RdmaAccess.REMOTE_READ));
        requester.read(1, source.slice(0, 500), remote);
        next(requester).check();
        denied(remote, window);
    }

    @Test
    void windowOfTypeTwoServesItsOwnQueuePairOnly() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        assertThat(write(remote)).isEqualTo(CompletionStatus.SUCCESS);
        QueuePair mine = requester;
        QueuePair bound = responder;
        requester = null;
        renew(QueuePairType.RC);
        assertThat(write(remote)).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        requester.close();
        responder.close();
        requester = mine;
        responder = bound;
        assertThat(write(remote)).isEqualTo(CompletionStatus.SUCCESS);
        window.close();
    }

    @Test
    void messageInvalidatesAWindowOfTypeTwo() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        responder.receive(1, target.slice(0, 64));
        requester.sendInvalidating(2, remote.key(), source.slice(0, 64));
        next(requester).check();
        next(responder).check();
        assertThat(window.remote()).isEmpty();
        assertThat(target.windows()).isEmpty();
        denied(remote, window);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 500})
    void windowIsBoundAgainBeforeTheMessageThatInvalidatedItIsTaken(long length) {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 40_001, 500, READ_WRITE);
        responder.receive(1, target.slice(0, 64));
        requester.sendInvalidating(2, remote.key(), source.slice(0, 64));
        next(requester).check();
        RemoteMemory again = window.bind(responder, target, 40_001, length, READ_WRITE);
        next(responder).check();
        assertThat(window.remote().isPresent()).isEqualTo(length > 0);
        if (length > 0) {
            assertThat(write(again)).isEqualTo(CompletionStatus.SUCCESS);
        }
        denied(remote, window);
    }

    @Test
    void closingKeepsItsOrder() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 0, 500, READ_WRITE);
        assertThat(Failures.expectErrno(Errno.EBUSY, responder::close)).hasMessageContaining("ibv_destroy_qp");
        assertThat(Failures.expectErrno(Errno.EBUSY, target::close)).hasMessageContaining("1 windows");
        Failures.expectErrno(Errno.EBUSY, () -> target.reregister(Set.of()));
        Failures.expectErrno(Errno.EBUSY, domain::close);
        assertThat(write(remote)).isEqualTo(CompletionStatus.SUCCESS);
        window.close();
        window.close();
        responder.close();
        responder.close();
        Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> responder.poll(1));
        Failures.expect(
                CuFileError.MEMORY_NOT_REGISTERED, () -> window.bind(requester, target, 0, 1, READ_WRITE));
    }

    @Test
    void windowIsBoundToWhatAllowsIt() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        Failures.expect(
                CuFileError.INVALID_MAPPING_RANGE, () -> window.bind(responder, target, SIZE - 1, 2, READ_WRITE));
        Failures.expect(
                CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> window.bind(responder, source, 0, 2, READ_WRITE));
        Failures.expect(CuFileError.INVALID_VALUE, () -> window.bind(responder, target, 0, 2, ALL));
        Failures.expect(CuFileError.INVALID_VALUE, () -> window.bind(responder, target, 0, 2, Set.of()));
        MemoryRegion readOnly = domain.register(there.range(), EnumSet.of(RdmaAccess.WINDOW_BIND));
        Failures.expect(
                CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> window.bind(responder, readOnly, 0, 2, READ_WRITE));
        readOnly.close();
        try (ProtectionDomain other = tested().open();
                MemoryRegion foreign = other.register(there.range(), ALL);
                MemoryWindow theirs = other.window(WindowType.TYPE_1)) {
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, Errno.EINVAL,
                    () -> window.bind(responder, foreign, 0, 2, READ_WRITE));
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, Errno.EINVAL,
                    () -> theirs.bind(responder, foreign, 0, 2, READ_WRITE));
        }
        window.close();
    }

    // ---- bad input

    @Test
    void fullQueueIsAnErrorUntilCompletionsAreTaken() {
        for (int i = 0; i < 32; i++) {
            requester.write(i, source.slice(0, 8), target.remote().slice(0, 8));
            responder.receive(i, target.slice(0, 8));
        }
        assertThat(Failures.expect(
                CuFileError.NOMEM_ERROR, Errno.ENOMEM,
                () -> requester.write(32, source.slice(0, 8), target.remote().slice(0, 8))))
                .hasMessageContaining("ibv_post_send").hasMessageContaining("32 requests");
        Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> responder.receive(32, target.slice(0, 8)));
        for (int i = 0; i < 32; i++) {
            assertThat(next(requester).check().id()).isEqualTo(i);
        }
        requester.write(32, source.slice(0, 8), target.remote().slice(0, 8));
        next(requester).check();
    }

    @Test
    void requestsThatCannotWorkAreRefused() {
        Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> source.slice(SIZE, 1));
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL,
                () -> requester.write(1, source.slice(0, 9), target.remote().slice(0, 8)));
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL, () -> requester.sendInline(1, new byte[65]));
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL, () -> domain.queuePair().port(2, tested().gidIndex()).build());
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL, () -> domain.queuePair().port(1, 256).build());
        Failures.expect(CuFileError.INVALID_VALUE, () -> domain.queuePair().depth(0, 1));
        Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> requester.connect(responder.local()));
        try (QueuePair alone = queuePair(domain, QueuePairType.UC)) {
            Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> alone.connect(requester.local()));
            Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> alone.send(1));
            assertThat(alone.await(Duration.ofMillis(1))).isEmpty();
        }
    }

    @Test
    void missingReceiveAndMissingPeerEndARequest() {
        requester.send(1, source.slice(0, 8));
        Completion refused = next(requester);
        assertThat(refused.status()).isEqualTo(CompletionStatus.RNR_RETRY_EXC_ERR);
        assertThat(Failures.expect(CuFileError.IO_ERROR, Errno.ETIMEDOUT, refused::check))
                .hasMessageContaining("ibv_post_send").hasMessageContaining("IBV_WC_RNR_RETRY_EXC_ERR");
        requester.send(2, source.slice(0, 8));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.WR_FLUSH_ERR);
        renew(QueuePairType.RC);
        responder.close();
        requester.write(3, source.slice(0, 8), target.remote().slice(0, 8));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.RETRY_EXC_ERR);
    }

    @Test
    void receiveThatIsTooSmallFailsBothEnds() {
        responder.receive(1, target.slice(0, 8));
        requester.send(2, source.slice(0, 9));
        assertThat(next(requester).status()).isIn(CompletionStatus.REM_INV_REQ_ERR, CompletionStatus.REM_OP_ERR);
        assertThat(next(responder).succeeded()).isFalse();
    }

    // ---- memory

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "HOST_HUGEPAGE"})
    void hostMemoryOfEachKindMovesItsBytes(MemoryKind kind) {
        int size = 3 << 20;
        try (MemoryAllocation memory = allocator.allocate(kind, size);
                MemoryRegion region = domain.register(memory.range().slice(5, size - 9), ALL)) {
            requester.write(1, source.slice(0, 100_000), region.remote().slice(2 << 20, 100_000));
            next(requester).check();
            assertThat(bytes(memory).asSlice(5 + (2 << 20), 100_000).mismatch(bytes(here).asSlice(0, 100_000)))
                    .isEqualTo(-1);
            requester.write(2, region.slice(2 << 20, 100_000), target.remote().slice(7, 100_000));
            next(requester).check();
            assertThat(bytes(there).asSlice(7, 100_000).mismatch(bytes(here).asSlice(0, 100_000))).isEqualTo(-1);
        }
    }

    @Test
    void cacheRegistersOnceAndDiesBeforeItsMemory() {
        RemoteMemory dead;
        try (RegionCache cache = RegionCache.of(domain, allocator,
                EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ), 1 << 20)) {
            MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 64 << 10);
            for (int i = 0; i < 3; i++) {
                try (RegionLease lease = cache.lease(memory.range().slice(100 * i, 5_000))) {
                    requester.write(1, lease.slice(8, 64), target.remote().slice(0, 64));
                    next(requester).check();
                    Failures.expectErrno(Errno.EBUSY, memory::close);
                    Failures.expectErrno(Errno.EBUSY, cache::close);
                }
            }
            assertThat(cache.hits()).isEqualTo(2);
            assertThat(cache.registeredBytes()).isEqualTo(64 << 10);
            try (RegionLease lease = cache.lease(memory.range())) {
                dead = lease.remote();
            }
            requester.read(2, source.slice(0, 64), dead.slice(0, 64));
            next(requester).check();
            memory.close();
            assertThat(cache.registeredBytes()).isZero();
        }
        requester.read(3, source.slice(0, 64), dead.slice(0, 64));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
    }

    // ---- random operations

    @Test
    void randomOperationsDoAsTheModelSays() {
        long seed = new Random().nextLong();
        System.out.println("RdmaContract seed " + seed);
        Random random = new Random(seed);
        byte[] model = bytes(there).toArray(JAVA_BYTE);
        int size = 4096;
        MemoryWindow window = domain.window(WindowType.TYPE_1);
        RemoteMemory bound = null;
        int boundAt = 0;
        Set<RdmaAccess> rights = Set.of();
        RemoteMemory dead = null;
        for (int i = 0; i < randomOperations(); i++) {
            int length = 1 + random.nextInt(200);
            int from = random.nextInt(size - length);
            int to = random.nextInt(size - length);
            String what = "seed %d, operation %d".formatted(seed, i);
            int choice = random.nextInt(64);
            RemoteMemory remote = target.remote().slice(to, length);
            boolean allowed = true;
            boolean writes = choice < 28 || choice >= 56;
            if (choice == 62) {
                rights = random.nextBoolean() ? READ_WRITE : EnumSet.of(RdmaAccess.REMOTE_READ);
                dead = bound == null ? null : bound;
                boundAt = random.nextInt(size - 300);
                bound = window.bind(responder, target, boundAt, 300, rights);
                continue;
            } else if (choice >= 58 && choice < 62 && bound != null) {
                to = boundAt + random.nextInt(100);
                remote = new RemoteMemory(target.ioAddress() + to, length, bound.key());
                allowed = rights.contains(RdmaAccess.REMOTE_WRITE)
                        && (!windowsHaveBounds() || to + length <= boundAt + 300);
                if (!windowsHaveBounds() && to + length > boundAt + 300) {
                    continue;
                }
            } else if (choice == 63 && dead != null && i % 8 == 0) {
                remote = new RemoteMemory(target.ioAddress() + to, length, dead.key());
                allowed = false;
            }
            if (writes) {
                requester.write(i, source.slice(from, length), remote);
                if (allowed) {
                    MemorySegment.copy(bytes(here), JAVA_BYTE, from, model, to, length);
                }
            } else {
                requester.read(i, source.slice(size + from, length), remote);
            }
            Completion completion = next(requester);
            assertThat(completion.id()).as(what).isEqualTo(i);
            assertThat(completion.status()).as(what)
                    .isEqualTo(allowed ? CompletionStatus.SUCCESS : CompletionStatus.REM_ACCESS_ERR);
            if (!allowed) {
                dead = null;
                bound = null;
                window.close();
                window = domain.window(WindowType.TYPE_1);
                renew(QueuePairType.RC);
            } else if (!writes) {
                assertThat(bytes(here).asSlice(size + from, length).toArray(JAVA_BYTE)).as(what)
                        .isEqualTo(Arrays.copyOfRange(model, to, to + length));
            }
        }
        assertThat(bytes(there).toArray(JAVA_BYTE)).isEqualTo(model);
        window.close();
    }
}
