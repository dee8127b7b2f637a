package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.StackReserve;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.spi.CuFileBackend;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What all users of one open driver share: the backend, and the objects to close before it.
 *
 * <p>
 * Calls on the driver itself run between {@link #enter} and {@link #exit}, so that none of them meets a driver that is being
 * closed: a late registration would open it again.
 */
final class Session {
    /** In which order members are closed with the session. */
    enum Role {
        /** Batches and streams: they use files and buffers, and go first. */
        FEEDER,
        /** Files and buffers. */
        TARGET
    }

    private final CuFileBackend backend;
    private final InFlight calls = InFlight.ofManyThreads();
    private final Map<Object, Lifetime> feeders = new LinkedHashMap<>();
    private final Map<Object, Lifetime> targets = new LinkedHashMap<>();
    private final AtomicLong windows = new AtomicLong();
    private volatile RegistrationPolicy policy = RegistrationPolicy.EXPLICIT;
    private volatile @Nullable RegistrationCache cache;
    private int users = 1;
    private @Nullable Runnable unpublish;
    private @Nullable AsyncCalls asyncCalls;

    private Session(CuFileBackend backend) {
        this.backend = backend;
    }

    /** What runs calls for which no caller waits. */
    synchronized AsyncCalls asyncCalls() {
        if (asyncCalls == null) {
            asyncCalls = new AsyncCalls();
        }
        return asyncCalls;
    }

    /** In place of threads of its own; before the first call. */
    synchronized void setAsyncCalls(AsyncCalls calls) {
        asyncCalls = calls;
    }

    private synchronized @Nullable AsyncCalls asyncCallsOrNull() {
        return asyncCalls;
    }

    /** Shows the statistics over JMX while their level is above 0. */
    synchronized void publishStatistics() {
        boolean counts = users > 0 && backend.getStatsLevel() > 0;
        if (counts && unpublish == null) {
            unpublish = StatisticsBean.register(backend);
        } else if (!counts) {
            unpublish();
        }
    }

    private synchronized void unpublish() {
        Runnable published = unpublish;
        unpublish = null;
        if (published != null) {
            published.run();
        }
    }

    /** Opens the driver for a first user: {@code cuFileDriverOpen}. */
    static Session open(CuFileBackend backend) {
        backend.driverOpen();
        Session session = new Session(backend);
        if (countsFromTheStart(backend)) {
            session.publishStatistics();
        }
        return session;
    }

    /** As {@code profile.cufile_stats} asks; a backend that does not count says so by an exception. */
    private static boolean countsFromTheStart(CuFileBackend backend) {
        try {
            return backend.getStatsLevel() > 0;
        } catch (CuFileException e) {
            return false;
        }
    }

    RegistrationPolicy policy() {
        return policy;
    }

    /** What is registered so far for requests that come later stays with those that use it now. */
    synchronized void setPolicy(RegistrationPolicy next) {
        RegistrationCache old = cache;
        cache = next.mode() != RegistrationPolicy.Mode.CACHED
                ? null
                : RegistrationCache.of(backend, next.budgetBytes(), next.pageBytes());
        policy = next;
        if (old != null) {
            old.close();
        }
    }

    /** Registers for requests on plain memory; null unless the policy asks for it. */
    @Nullable
    RegistrationCache cache() {
        return cache;
    }

    /** Number of a new window. */
    long nextWindow() {
        return windows.incrementAndGet();
    }

    CuFileBackend backend() {
        return backend;
    }

    /** One more user: {@code cuFileDriverOpen} again. */
    synchronized void share() {
        if (users == 0) {
            throw closed("cuFileDriverOpen");
        }
        backend.driverOpen();
        users++;
    }

    synchronized int users() {
        return users;
    }

    boolean isOpen() {
        return !calls.isClosed();
    }

    static CuFileException closed(String function) {
        return CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
    }

    void enter(String function) {
        StackReserve.require();
        if (!calls.enter()) {
            throw closed(function);
        }
    }

    void exit() {
        calls.exit();
    }

    <R> R call(String function, Function<CuFileBackend, R> body) {
        enter(function);
        try {
            return body.apply(backend);
        } finally {
            exit();
        }
    }

    void run(String function, Consumer<CuFileBackend> body) {
        enter(function);
        try {
            body.accept(backend);
        } finally {
            exit();
        }
    }

    /**
     * Takes a new member in, during a call. It is closed with the session if not before.
     *
     * @param release frees the native side, now if there can be no member; must refer to nothing that refers to {@code owner}
     */
    Lifetime adopt(Role role, Object owner, String what, Runnable release) {
        try {
            Object token = new Object();
            Lifetime lifetime = Lifetime.of(owner, what, () -> {
                try {
                    release.run();
                } finally {
                    // Not before: a driver that closes meanwhile finds the member and waits for it.
                    remove(token);
                }
            });
            synchronized (this) {
                (role == Role.FEEDER ? feeders : targets).put(token, lifetime);
            }
            return lifetime;
        } catch (RuntimeException | Error e) {
            release.run();
            throw e;
        }
    }

    private synchronized void remove(Object token) {
        feeders.remove(token);
        targets.remove(token);
    }

    /**
     * Refuses to close the driver from inside its own I/O, where waiting for that I/O would never end.
     *
     * @throws CuFileException DRIVER_CLOSING (EBUSY)
     */
    synchronized void checkMayRelease() {
        if (users == 1 && members().stream().anyMatch(Lifetime::isHeldByThisThread)) {
            throw CuFileException.builder("cuFileDriverClose")
                    .error(CuFileError.DRIVER_CLOSING)
                    .errno(Errno.EBUSY)
                    .detail("the driver cannot be closed from inside its own I/O")
                    .build();
        }
    }

    /** Gives one use up; the last one closes what is left and the driver: {@code cuFileDriverClose}. */
    void release() {
        synchronized (this) {
            if (users > 1) {
                users--;
                backend.driverClose();
                return;
            }
            users = 0;
        }
        calls.close();
        unpublish();
        AsyncCalls started = asyncCallsOrNull();
        if (started != null) {
            started.close();
        }
        @Nullable Throwable failure = null;
        for (Lifetime member : members()) {
            failure = attempt(() -> member.close("cuFileDriverClose"), failure);
        }
        failure = attempt(() -> setPolicy(RegistrationPolicy.NONE), failure);
        failure = attempt(backend::driverClose, failure);
        switch (failure) {
            case null -> {
                // closed without any trouble
            }
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new AssertionError(failure);
        }
    }

    /** In the order in which they are closed: feeders first, the youngest of each first. */
    private synchronized List<Lifetime> members() {
        List<Lifetime> all = new ArrayList<>(targets.values());
        all.addAll(feeders.values());
        return all.reversed();
    }

    private static @Nullable Throwable attempt(Runnable step, @Nullable Throwable earlier) {
        try {
            step.run();
            return earlier;
        } catch (RuntimeException | Error e) {
            if (earlier == null) {
                return e;
            }
            earlier.addSuppressed(e);
            return earlier;
        }
    }
}
