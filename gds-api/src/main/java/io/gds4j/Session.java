package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.StackReserve;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An open driver, shared by its users: the backend and the members to close before it. A member is a handle, buffer, batch or
 * stream.
 *
 * <p>
 * Calls on the driver run between {@link #enter} and {@link #exit}, so that none of them reaches a driver that is being closed: a
 * late registration would open it again.
 */
final class Session {
    /** Decides when a member is closed with the session. */
    enum Role {
        /** Batches and streams: closed first, because they use files and buffers. */
        FEEDER,
        /** Files and buffers: closed after the feeders. */
        TARGET
    }

    /** A program that is over sooner pays nothing for JMX, and a longer one not while it loads its model. */
    private static final long PUBLISHED_AFTER_MILLIS = 5000;

    /** More arrays moved at once than this take memory of their own. */
    private static final int MAX_IDLE_PIECES = 32;
    /** Attempts to read two counters while no bytes are written. */
    private static final int MAX_ROUNDS = 1000;

    private final CuFileBackend backend;
    private final Optional<BackendChoice> choice;
    private final InFlight calls = InFlight.ofManyThreads();
    private final Map<Object, Lifetime> feeders = new LinkedHashMap<>();
    private final Map<Object, Lifetime> targets = new LinkedHashMap<>();
    private final AtomicLong windows = new AtomicLong();

    /** Checks that no request uses. Its own lock guards the queue. */
    private final Deque<ScatterCheck> idleChecks = new ArrayDeque<>();
    /** Memory for pieces of arrays that no request uses. Its own lock guards the queue. */
    private final Deque<MemoryRange> idlePieces = new ArrayDeque<>();
    private volatile RegistrationPolicy policy = RegistrationPolicy.EXPLICIT;
    private volatile @Nullable RegistrationCache cache;
    private int users = 1;
    private @Nullable Runnable unpublish;
    private @Nullable AsyncCalls asyncCalls;

    private Session(CuFileBackend backend, Optional<BackendChoice> choice) {
        this.backend = backend;
        this.choice = choice;
    }

    /** Lends what copies and checks the fragments of a request; {@link #giveBack} follows. */
    ScatterCheck borrowCheck() {
        synchronized (idleChecks) {
            ScatterCheck idle = idleChecks.poll();
            return idle == null ? new ScatterCheck() : idle;
        }
    }

    void giveBack(ScatterCheck check) {
        synchronized (idleChecks) {
            idleChecks.push(check);
        }
    }

    /** Lends memory for a piece of an array; null if none is idle. {@link #giveBack(MemoryRange)} follows. */
    @Nullable
    MemoryRange borrowPiece() {
        synchronized (idlePieces) {
            return idlePieces.poll();
        }
    }

    /** Keeps the memory for the next request. If enough is kept, the collector frees it. */
    void giveBack(MemoryRange piece) {
        synchronized (idlePieces) {
            if (idlePieces.size() < MAX_IDLE_PIECES) {
                idlePieces.push(piece);
            }
        }
    }

    /** Returns the executor of {@code readAsync} and {@code writeAsync}; creates it at the first call. */
    synchronized AsyncCalls asyncCalls() {
        if (asyncCalls == null) {
            asyncCalls = new AsyncCalls();
        }
        return asyncCalls;
    }

    /** Sets another executor before the first call; for tests. */
    synchronized void setAsyncCalls(AsyncCalls calls) {
        asyncCalls = calls;
    }

    private synchronized @Nullable AsyncCalls asyncCallsOrNull() {
        return asyncCalls;
    }

    /** Publishes the statistics over JMX if their level is above 0. They stay published until the session is closed. */
    synchronized void publishStatistics() {
        if (users > 0 && unpublish == null && backend.controls().getStatsLevel() > 0) {
            unpublish = StatisticsBean.register(backend.controls(), Level.WARNING);
        }
    }

    /**
     * Starts a thread that publishes a session that counts nothing, after a while: loading JMX takes 50 ms, which short programs spend
     * better. The thread lives as long as the session: by its name {@code gds top} knows which JVMs have a session.
     */
    private void publishLater() {
        try {
            Thread.ofPlatform().daemon().name(CuFileStatisticsMXBean.THREAD_NAME).start(this::publishUntilClosed);
        } catch (OutOfMemoryError e) {
            // The system has no thread left. JMX shows the session once it counts.
            System.getLogger("io.gds4j").log(Level.DEBUG, "JMX does not show a session that counts nothing", e);
        }
    }

    private void publishUntilClosed() {
        if (!isClosedWithin(PUBLISHED_AFTER_MILLIS) && !isPublished()) {
            // Without the lock: requests of the program must not wait for JMX.
            Runnable bean = StatisticsBean.register(backend.controls(), Level.DEBUG);
            if (!adopt(bean)) {
                bean.run();
            }
        }
        isClosedWithin(Long.MAX_VALUE);
    }

    /** Waits until the session is closed, or for a time. */
    private synchronized boolean isClosedWithin(long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (long left = millis; users > 0 && left > 0; left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
            try {
                wait(left);
            } catch (InterruptedException e) {
                return true; // gds4j interrupts no thread of its own
            }
        }
        return users == 0;
    }

    private synchronized boolean isPublished() {
        return unpublish != null;
    }

    private synchronized boolean adopt(Runnable bean) {
        boolean needed = users > 0 && unpublish == null;
        unpublish = needed ? bean : unpublish;
        return needed;
    }

    private synchronized void unpublish() {
        Runnable published = unpublish;
        unpublish = null;
        if (published != null) {
            published.run();
        }
    }

    /** Opens the driver for its first user ({@code cuFileDriverOpen}). */
    static Session open(CuFileBackend backend, Optional<BackendChoice> choice) {
        backend.driverOpen();
        Session session = new Session(backend, choice);
        if (countsFromTheStart(backend)) {
            session.publishStatistics();
        }
        session.publishLater();
        return session;
    }

    /** Returns whether {@code profile.cufile_stats} starts counters; false for a backend without statistics. */
    private static boolean countsFromTheStart(CuFileBackend backend) {
        try {
            return backend.controls().getStatsLevel() > 0;
        } catch (CuFileException e) {
            return false;
        }
    }

    RegistrationPolicy policy() {
        return policy;
    }

    /** Replaces policy and cache. The old cache's registrations end with the requests that use them. */
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

    /** Returns the cache that registers plain memory; null unless the policy is CACHED. */
    @Nullable
    RegistrationCache cache() {
        return cache;
    }

    /** Returns the number of a new window. */
    long nextWindow() {
        return windows.incrementAndGet();
    }

    CuFileBackend backend() {
        return backend;
    }

    /** Returns what the program asked for; empty if it opened a backend of its own. */
    Optional<BackendChoice> choice() {
        return choice;
    }

    /** Returns bytes read from files so far, at any level of statistics. Bytes that are written meanwhile are none of them. */
    long bytesRead() {
        DriverControls controls = backend.controls();
        long moved;
        long written = controls.bytesWritten();
        long before;
        int rounds = 0;
        do {
            before = written;
            moved = controls.engineStatistics().bytesByPath().values().stream().mapToLong(Long::longValue).sum();
            written = controls.bytesWritten();
        } while (written != before && ++rounds < MAX_ROUNDS);
        return Math.max(0, moved - written);
    }

    /** Adds a user (a second {@code cuFileDriverOpen}). */
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
     * Adds a member during a call; the session closes it if the program does not.
     *
     * @param release frees the native side, at once if this method fails; must hold no reference that leads to {@code owner}
     */
    Lifetime adopt(Role role, Object owner, String what, Runnable release) {
        try {
            Object token = new Object();
            Lifetime lifetime = Lifetime.of(owner, what, () -> {
                try {
                    release.run();
                } finally {
                    // After the release: a driver that closes meanwhile must find the member and wait for it.
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
     * Refuses to close the driver from inside its own I/O: the wait for that I/O would never end.
     *
     * @throws CuFileException DRIVER_CLOSING (EBUSY)
     */
    synchronized void checkMayRelease() {
        if (users == 1 && members().stream().anyMatch(Lifetime::isHeldByThisThread)) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, Errno.EBUSY, "cuFileDriverClose",
                    "the driver cannot be closed from inside its own I/O");
        }
    }

    /** Removes a user; the last one closes all members and the driver ({@code cuFileDriverClose}). */
    void release() {
        synchronized (this) {
            if (users > 1) {
                users--;
                backend.driverClose();
                return;
            }
            users = 0;
            notifyAll();
        }
        calls.close();
        unpublish();
        AsyncCalls started = asyncCallsOrNull();
        if (started != null) {
            started.close();
        }
        List<Runnable> steps = new ArrayList<>();
        members().forEach(member -> steps.add(() -> member.close(member, "cuFileDriverClose")));
        steps.add(() -> setPolicy(RegistrationPolicy.NONE));
        steps.add(backend::driverClose);
        Closing.all(steps, Runnable::run);
    }

    /** Returns the members in closing order: feeders first, the youngest of each role first. */
    private synchronized List<Lifetime> members() {
        List<Lifetime> all = new ArrayList<>(targets.values());
        all.addAll(feeders.values());
        return all.reversed();
    }
}
