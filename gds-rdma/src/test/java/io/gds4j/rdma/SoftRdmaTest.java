package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract on a double, which checks the bounds of windows; and what only a double can show. */
@Tag("slow")
class SoftRdmaTest extends RdmaContract {
    private final SoftVerbs verbs = new SoftVerbs("soft0");
    private final TestDevice tested = TestDevice.of(verbs);

    @Override
    TestDevice tested() {
        return tested;
    }

    @Override
    int randomOperations() {
        return 100_000;
    }

    @Override
    boolean windowsHaveBounds() {
        return true;
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(verbs.hasOverflowed()).isFalse();
        if (!domain.isOpen()) {
            assertThat(verbs.live()).isEmpty();
        }
    }

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void windowIsExactToTheByte(WindowType type) {
        for (int[] outside : new int[][]{{-1, 8}, {493, 8}, {0, 501}, {100_000, 8}}) {
            MemoryWindow window = domain.window(type);
            RemoteMemory remote = window.bind(
                    responder, target, 40_001, 500, EnumSet.of(RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE));
            requester.write(1, source.slice(0, 500), remote);
            next(requester).check();
            requester.write(
                    2, source.slice(0, outside[1]),
                    new RemoteMemory(remote.address() + outside[0], outside[1], remote.key()));
            assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
            window.close();
            renew(QueuePairType.RC);
        }
    }

    @Test
    void reregisteredRegionHasOtherRights() {
        target.reregister(EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ));
        assertThat(target.rights()).doesNotContain(RdmaAccess.REMOTE_WRITE);
        requester.read(1, source.slice(0, 8), target.remote().slice(0, 8));
        next(requester).check();
        requester.write(2, source.slice(0, 8), target.remote().slice(0, 8));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        renew(QueuePairType.RC);
        target.reregister(here.range(), ALL);
        assertThat(target.ioAddress()).isEqualTo(here.range().address());
        requester.write(3, source.slice(0, 8), target.remote().slice(512, 8));
        next(requester).check();
        there.close();
        Failures.expectErrno(Errno.EBUSY, here::close);
        verbs.fail("ibv_rereg_mr", Errno.EOPNOTSUPP);
        assertThat(Failures.expect(
                CuFileError.IO_NOT_SUPPORTED, Errno.EOPNOTSUPP, () -> target.reregister(Set.of())))
                .hasMessageContaining("ibv_rereg_mr").hasMessageContaining("soft0");
        assertThat(target.rights()).isEqualTo(ALL);
    }

    @Test
    void readOnlySegmentIsNeverWrittenByADevice() {
        MemoryRange readOnly = MemoryRange.ofSegment(Arena.ofAuto().allocate(SIZE).asReadOnly());
        try (ProtectionDomain sibling = domain.sibling();
                MemoryRegion region = domain.register(readOnly, Set.of(RdmaAccess.REMOTE_READ))) {
            Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> region.reregister(ALL));
            Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> sibling.reregister(region, ALL));
            Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> target.reregister(readOnly, ALL));
            region.reregister(Set.of());
            target.reregister(readOnly, Set.of());
            Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, () -> target.reregister(ALL));
            target.reregister(there.range(), ALL);
        }
    }

    @Test
    void reregisteredRegionMovesToAnotherDomain() {
        ProtectionDomain sibling = domain.sibling();
        QueuePair near = queuePair(sibling, QueuePairType.RC);
        QueuePair far = queuePair(sibling, QueuePairType.RC);
        near.connect(far.local());
        far.connect(near.local());
        MemoryRegion moving = domain.register(here.range(), EnumSet.of(RdmaAccess.LOCAL_WRITE));
        Failures.expect(
                CuFileError.MEMORY_NOT_REGISTERED, () -> near.write(1, moving.slice(0, 8), target.remote()));
        sibling.reregister(moving, ALL);
        assertThat(moving.rights()).isEqualTo(ALL);
        Failures.expect(
                CuFileError.MEMORY_NOT_REGISTERED, () -> requester.write(1, moving.slice(0, 8), target.remote()));
        near.write(2, moving.slice(0, 8), moving.remote().slice(64, 8));
        next(near).check();
        requester.write(3, source.slice(0, 8), moving.remote().slice(0, 8));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        near.close();
        far.close();
        Failures.expectErrno(Errno.EBUSY, sibling::close);
        Failures.expectErrno(Errno.EBUSY, domain::close);
        verbs.fail("ibv_rereg_mr", Errno.EOPNOTSUPP);
        Failures.expect(
                CuFileError.IO_NOT_SUPPORTED, Errno.EOPNOTSUPP, () -> domain.reregister(moving, ALL));
        Failures.expectErrno(Errno.EBUSY, sibling::close);
        domain.reregister(moving, ALL);
        sibling.close();
        Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> sibling.reregister(moving, ALL));
        try (ProtectionDomain elsewhere = tested().open()) {
            Failures.expect(CuFileError.INVALID_VALUE, () -> elsewhere.reregister(moving, ALL));
        }
        moving.close();
    }

    /** The worked example of the GPUDirect RDMA guide: 10,000 bytes at 141200h, in three pages. */
    @Test
    void regionNamesBytesAndDevicesPinPages() {
        long address = 0x141200;
        MemoryRegion region = domain.register(there.range().slice(0x200, 10_000), address, ALL);
        RemoteMemory remote = region.remote();
        assertThat(remote).isEqualTo(new RemoteMemory(address, 10_000, region.remoteKey()));
        assertThat((remote.address() + remote.length() - 1 >> 12) - (remote.address() >> 12) + 1).isEqualTo(3);
        requester.write(1, source.slice(0, 10_000), remote);
        next(requester).check();
        assertThat(bytes(there).asSlice(0x200, 10_000).mismatch(bytes(here).asSlice(0, 10_000))).isEqualTo(-1);
        requester.write(2, source.slice(0, 1), new RemoteMemory(address + 10_000, 1, remote.key()));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        region.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "ibv_query_port", "ibv_query_gid", "ibv_create_comp_channel", "ibv_create_cq", "ibv_create_qp",
            "ibv_modify_qp"})
    void failedQueuePairLeavesNothing(String verb) {
        List<String> before = verbs.live();
        verbs.fail(verb, Errno.ENOMEM);
        assertThat(Failures.expect(
                CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> queuePair(domain, QueuePairType.RC)))
                .hasMessageContaining(verb);
        assertThat(verbs.live()).isEqualTo(before);
    }

    /** Ports that are down may say 0. */
    @Test
    void queuePairOfAPortWithoutAnMtuLeavesNothing() {
        List<String> before = verbs.live();
        verbs.activeMtu(0);
        assertThat(Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> queuePair(domain, QueuePairType.RC)))
                .hasMessageContaining("MTU of 128 bytes");
        assertThat(verbs.live()).isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ibv_post_send", "ibv_post_recv", "ibv_poll_cq", "ibv_req_notify_cq", "ibv_get_cq_event"})
    void failedVerbOfARequestIsNamed(String verb) {
        verbs.fail(verb, Errno.EFAULT);
        assertThat(Failures.expect(CuFileError.IO_ERROR, Errno.EFAULT, () -> {
            responder.receive(1, target.slice(0, 8));
            requester.write(1, source.slice(0, 8), target.remote().slice(0, 8));
            next(requester).check();
            next(responder);
        })).hasMessageContaining(verb);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ibv_alloc_mw", "ibv_bind_mw", "ibv_post_send"})
    void failedBindLeavesNothingBound(String verb) {
        WindowType type = verb.equals("ibv_post_send") ? WindowType.TYPE_2 : WindowType.TYPE_1;
        verbs.fail(verb, Errno.EOPNOTSUPP);
        assertThat(Failures.expect(CuFileError.IO_NOT_SUPPORTED, Errno.EOPNOTSUPP, () -> {
            try (MemoryWindow window = domain.window(type)) {
                window.bind(responder, target, 0, 8, Set.of(RdmaAccess.REMOTE_READ));
            }
        })).hasMessageContaining(verb).hasMessageContaining("soft0");
        assertThat(target.windows()).isEmpty();
    }

    @Test
    void windowOfAFailedQueuePairIsClosed() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        window.bind(responder, target, 0, 8, Set.of(RdmaAccess.REMOTE_READ));
        verbs.breakQueuePair(responder.local().queuePair());
        Failures.expect(CuFileError.IO_ERROR, Errno.ECANCELED, window::invalidate);
        window.close();
        assertThat(target.windows()).isEmpty();
    }

    /** A thread that takes a message of the peer asks the same. */
    @Test
    void boundWindowAnswersWhileItIsInvalidated() throws Exception {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 0, 8, Set.of(RdmaAccess.REMOTE_READ));
        FutureTask<Optional<RemoteMemory>> answer = new FutureTask<>(window::remote);
        verbs.beforeNextPost(() -> {
            Thread.ofPlatform().start(answer);
            try {
                assertThat(answer.get(20, TimeUnit.SECONDS)).contains(remote);
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        window.invalidate();
        assertThat(answer).isDone();
        window.close();
    }

    @Test
    void virtualThreadWaitsWithoutItsCarrier() throws Exception {
        responder.receive(1, target.slice(0, 8));
        FutureTask<Optional<Completion>> waiting = new FutureTask<>(() -> responder.await(SOON));
        Thread waiter = Thread.ofVirtual().start(waiting);
        while (waiter.getState() != Thread.State.TIMED_WAITING && !waiting.isDone()) {
            Thread.onSpinWait();
        }
        requester.sendInline(2, new byte[8]);
        assertThat(waiting.get(20, TimeUnit.SECONDS).orElseThrow().check().id()).isEqualTo(1);
    }

    @Test
    void waitsOfAnyLengthAreTaken() throws Exception {
        assertThat(requester.await(Duration.ofSeconds(Long.MIN_VALUE))).isEmpty();
        requester.write(1, source.slice(0, 8), target.remote().slice(0, 8));
        assertThat(requester.await(ChronoUnit.FOREVER.getDuration())).isPresent();
    }

    @Test
    void closeEndsAThreadThatWaits() throws Exception {
        CountDownLatch waiting = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread waiter = Thread.ofPlatform().start(() -> {
            waiting.countDown();
            try {
                requester.await(Duration.ofSeconds(60));
            } catch (RuntimeException e) {
                thrown.set(e);
            }
        });
        waiting.await();
        while (waiter.getState() == Thread.State.RUNNABLE) {
            Thread.onSpinWait();
        }
        requester.close();
        waiter.join();
        assertThat(thrown.get()).hasMessageContaining("closed");
    }

    /** The device has bound the window, but the poll failed: only freeing the window unbinds it. */
    @ParameterizedTest
    @EnumSource(WindowType.class)
    void bindWhoseEndIsUnknownKeepsItsRegion(WindowType type) {
        MemoryRegion region = domain.register(there.range(), ALL);
        MemoryWindow window = domain.window(type);
        verbs.fail("ibv_poll_cq", Errno.EIO);
        assertThat(Failures.expectErrno(
                Errno.EIO, () -> window.bind(responder, region, 0, 8, Set.of(RdmaAccess.REMOTE_READ))).function())
                .isEqualTo("ibv_poll_cq");
        Failures.expectErrno(Errno.EBUSY, region::close);
        window.close();
        region.close();
    }

    /** The wait for a device ends after 5 s; what it was asked for it does later. */
    @Test
    void windowIsInvalidatedOnceThoughTheDeviceIsSlow() {
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        window.bind(responder, target, 0, 8, Set.of(RdmaAccess.REMOTE_READ));
        verbs.silent(true);
        Failures.expectErrno(Errno.ETIMEDOUT, window::invalidate);
        assertThat(window.remote()).isPresent();
        verbs.silent(false);
        window.invalidate();
        assertThat(window.remote()).isEmpty();
        RemoteMemory remote = window.bind(responder, target, 8, 8, EnumSet.of(RdmaAccess.REMOTE_WRITE));
        requester.write(1, source.slice(0, 8), remote);
        next(requester).check();
        window.invalidate();
        window.close();
    }

    @Test
    void interruptDoesNotLoseABind() {
        Thread.currentThread().interrupt();
        MemoryWindow window = domain.window(WindowType.TYPE_2);
        RemoteMemory remote = window.bind(responder, target, 0, 8, EnumSet.of(RdmaAccess.REMOTE_WRITE));
        assertThat(Thread.interrupted()).isTrue();
        requester.write(1, source.slice(0, 8), remote);
        next(requester).check();
        window.close();
    }

    @Test
    void interruptEndsAWait() {
        Thread.currentThread().interrupt();
        Failures.expectErrno(Errno.EINTR, () -> requester.await(Duration.ofSeconds(60)));
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void postsPollsAndClosesAtOnceAreSafe() throws Exception {
        for (int round = 0; round < 50; round++) {
            List<Thread> threads = new ArrayList<>();
            AtomicReference<Throwable> wrong = new AtomicReference<>();
            QueuePair used = requester;
            for (int i = 0; i < 4; i++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        while (true) {
                            used.write(1, source.slice(0, 8), target.remote().slice(0, 8));
                            used.await(Duration.ofMillis(100)).orElseThrow().check();
                        }
                    } catch (io.gds4j.error.CuFileException e) {
                        if (e.error() != CuFileError.MEMORY_NOT_REGISTERED) {
                            wrong.set(e);
                        }
                    } catch (Throwable e) {
                        wrong.set(e);
                    }
                }));
            }
            used.close();
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(wrong.get()).isNull();
            renew(QueuePairType.RC);
        }
    }
}
