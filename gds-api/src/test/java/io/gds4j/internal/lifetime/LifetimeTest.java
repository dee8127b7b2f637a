package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.Logged;
import io.gds4j.Threads;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(120)
class LifetimeTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("never closed");

    private final Object owner = new Object();
    private final AtomicInteger released = new AtomicInteger();
    private final Lifetime lifetime = Lifetime.of(owner, "the thing", released::incrementAndGet);

    @AfterEach
    void close() {
        lifetime.close(owner, "f");
    }

    @Test
    void repeatedCloseReleasesOnce() {
        lifetime.close(owner, "f");
        lifetime.close(owner, "f");

        assertThat(released).hasValue(1);
        assertThat(lifetime.isOpen()).isFalse();
        assertThat(lifetime.enter()).isFalse();
        assertThat(lifetime.hold()).isFalse();
        assertThat(lifetime.claim()).isFalse();
    }

    @Test
    void closeWaitsForACallOfAnotherThread() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        try (Threads threads = new Threads()) {
            Future<Integer> call = threads.start(() -> {
                lifetime.enter();
                inside.countDown();
                leave.await();
                int before = released.get();
                lifetime.exit();
                return before;
            });
            inside.await();
            Future<Void> closer = threads.run(() -> lifetime.close(owner, "f"));
            threads.awaitParked();
            leave.countDown();

            closer.get(60, TimeUnit.SECONDS);
            assertThat(call.get(60, TimeUnit.SECONDS)).isZero();
            assertThat(released).hasValue(1);
        }
    }

    @Test
    void secondCloserWaitsForTheRelease() throws Exception {
        CountDownLatch releasing = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        Lifetime slow = Lifetime.of(owner, "slow", () -> {
            releasing.countDown();
            awaitQuietly(goOn);
            done.set(1);
        });
        try (Threads threads = new Threads()) {
            Future<Void> first = threads.run(() -> slow.close(owner, "f"));
            releasing.await();
            Future<Integer> second = threads.start(() -> {
                slow.close(owner, "f");
                return done.get();
            });
            threads.awaitParked();
            assertThat(second).isNotDone();
            goOn.countDown();

            assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(1);
            first.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void interruptedSecondCloserWaitsAndKeepsTheFlag() throws Exception {
        CountDownLatch releasing = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Lifetime slow = Lifetime.of(owner, "slow", () -> {
            releasing.countDown();
            awaitQuietly(goOn);
        });
        try (Threads threads = new Threads()) {
            threads.run(() -> slow.close(owner, "f"));
            releasing.await();
            Future<Boolean> second = threads.start(() -> {
                slow.close(owner, "f");
                return Thread.interrupted();
            });
            threads.awaitParked();
            threads.interrupt();
            goOn.countDown();

            assertThat(second.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void closeInsideACallIsRefusedAndChangesNothing() {
        lifetime.enter();
        CuFileException e =
                catchThrowableOfType(CuFileException.class, () -> lifetime.close(owner, "cuFileHandleDeregister"));
        lifetime.exit();

        assertThat(e)
                .hasMessage("cuFileHandleDeregister: the thing: it cannot be closed from inside a call that uses it"
                        + " (CU_FILE_IO_NOT_SUPPORTED 5008, EBUSY: device or resource busy)");
        assertThat(lifetime.isOpen()).isTrue();
        lifetime.close(owner, "f");
        assertThat(released).hasValue(1);
    }

    @Test
    void closeOfAnotherLifetimeInsideACallSucceeds() {
        Lifetime other = Lifetime.of(owner, "other", released::incrementAndGet);
        lifetime.enter();
        other.close(owner, "f");
        lifetime.exit();

        assertThat(released).hasValue(1);
        lifetime.close(owner, "f");
    }

    @Test
    void closeInsideACallIsRefusedWhileAnotherThreadCloses() throws Exception {
        lifetime.enter();
        try (Threads threads = new Threads()) {
            Future<Void> closer = threads.run(() -> lifetime.close(owner, "f"));
            threads.awaitParked();

            assertThatThrownBy(() -> lifetime.close(owner, "f")).isInstanceOf(CuFileException.class);
            lifetime.exit();

            closer.get(60, TimeUnit.SECONDS);
        }
        assertThat(released).hasValue(1);
    }

    @Test
    void releaseMayCloseTheLifetimeAgain() {
        AtomicReference<Lifetime> self = new AtomicReference<>();
        self.set(Lifetime.of(owner, "self", () -> self.get().close(owner, "f")));

        self.get().close(owner, "f");

        assertThat(self.get().isOpen()).isFalse();
    }

    @Test
    void closeIsRefusedWhileThereIsAClaim() {
        lifetime.claim();
        assertThat(lifetime.isClaimed()).isTrue();

        CuFileException e = catchThrowableOfType(CuFileException.class, () -> lifetime.close(owner, "f"));

        assertThat(e.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(e.errno()).hasValue(Errno.EBUSY);
        assertThat(lifetime.isOpen()).isTrue();
        assertThat(lifetime.enter()).isTrue();
        lifetime.exit();
        lifetime.unclaim();
        lifetime.close(owner, "f");
        assertThat(released).hasValue(1);
    }

    @Test
    void closeWaitsForAHoldThatAnotherThreadEnds() throws Exception {
        lifetime.hold();
        try (Threads threads = new Threads()) {
            Future<Void> closer = threads.run(() -> lifetime.close(owner, "f"));
            threads.awaitParked();
            lifetime.letGo();
            closer.get(60, TimeUnit.SECONDS);
        }
        assertThat(released).hasValue(1);
    }

    @Test
    void lifetimeIsClosedAfterAFailedRelease() {
        Lifetime failing = Lifetime.of(owner, "failing", () -> {
            released.incrementAndGet();
            throw new IllegalStateException("no");
        });

        assertThatThrownBy(() -> failing.close(owner, "f")).isInstanceOf(IllegalStateException.class);
        failing.close(owner, "f");

        assertThat(released).hasValue(1);
        assertThat(failing.isOpen()).isFalse();
        lifetime.close(owner, "f");
    }

    @Test
    void callsMayNestDeeply() {
        for (int i = 0; i < 20; i++) {
            assertThat(lifetime.enter()).isTrue();
        }
        assertThat(lifetime.isHeldByThisThread()).isTrue();
        for (int i = 0; i < 20; i++) {
            lifetime.exit();
        }
        assertThat(lifetime.isHeldByThisThread()).isFalse();
        lifetime.close(owner, "f");
    }

    @Test
    void forgottenOwnerIsReleasedOnceItsClaimHasEnded() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        Lifetime claimed = forget("the claimed thing", over);
        claimed.claim();
        // The cleaner has seen the claimed thing before what was forgotten later.
        for (int i = 0; i < 2; i++) {
            forget("a later thing", new CountDownLatch(1));
            assertThat(logged.nextAfterCollection()).contains("a later thing");
        }
        assertThat(claimed.isOpen()).isTrue();

        claimed.unclaim();

        assertThat(logged.nextAfterCollection()).contains("the claimed thing was never closed");
        assertThat(over.await(60, TimeUnit.SECONDS)).isTrue();
    }

    private static Lifetime forget(String what, CountDownLatch over) {
        return Lifetime.of(new Object(), what, over::countDown);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
