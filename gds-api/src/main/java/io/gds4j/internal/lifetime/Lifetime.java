package io.gds4j.internal.lifetime;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.lang.System.Logger.Level;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Collections;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of an object that must be closed. Releases the object once, after the last call that uses it has returned:
 * {@link #close} does, or the garbage collector when it finds the object unreachable, with a warning that names its origin.
 *
 * <p>
 * An object has two kinds of uses. {@link #close} waits for calls. It refuses while there are claims (a registration, an entry
 * of a batch whose completion the program has not taken), because only their owner can end them.
 */
public final class Lifetime {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final long number = NUMBERS.incrementAndGet();
    private final InFlight calls = InFlight.ofManyThreads();
    private final InFlight claims = new InFlight();
    /** The claims that messages name; null before the first one. */
    private volatile @Nullable Set<Loan> loans;
    private final CountDownLatch released = new CountDownLatch(1);
    private final String what;
    private final Runnable release;
    private final Call call = this::exit;
    private volatile @Nullable Thread releaser;
    private volatile boolean given;
    private Cleaner.@Nullable Cleanable cleanable;

    private Lifetime(String what, Runnable release) {
        this.what = what;
        this.release = release;
    }

    /**
     * Begins the lifetime of {@code owner}.
     *
     * @param what names it in messages
     * @param release called exactly once; must refer to nothing that refers to {@code owner}
     */
    public static Lifetime of(Object owner, String what, Runnable release) {
        Lifetime lifetime = new Lifetime(what, release);
        CallSite site = CallSite.ofCaller();
        lifetime.cleanable = CLEANER.register(owner, () -> lifetime.forgotten(site));
        return lifetime;
    }

    /** Returns a number that no other lifetime of the process has. */
    long number() {
        return number;
    }

    /** {@return what it is called in messages} */
    public String what() {
        return what;
    }

    /** {@return true until closing has begun} */
    public boolean isOpen() {
        return !calls.isClosed();
    }

    /** A call of this thread, which ends when it is closed. */
    @FunctionalInterface
    public interface Call extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Begins a call of this thread, and returns what ends it, innermost first.
     *
     * @param closed makes what is thrown once closing has begun
     */
    public Call begin(Supplier<? extends RuntimeException> closed) {
        if (!enter()) {
            throw closed.get();
        }
        return call;
    }

    /** Begins a call of this thread that {@link #exit()} ends, innermost first; false once closing has begun. */
    public boolean enter() {
        return enter(ThreadState.current());
    }

    /** Ends what {@link #enter()} began. */
    public void exit() {
        exit(ThreadState.current());
    }

    /** Like {@link #enter()}, for a thread whose state has been looked up. */
    public boolean enter(ThreadState here) {
        StackReserve.require();
        here.reserve();
        if (!calls.enter()) {
            return false;
        }
        here.push(this);
        return true;
    }

    /** Ends what {@link #enter(ThreadState)} began. */
    public void exit(ThreadState here) {
        here.pop(this);
        calls.exit();
    }

    /**
     * {@return whether a call of this thread, later work of the stream that this thread serves, or a call or a claim that may wait for
     * this thread uses it. An entry of a batch claims its file while no thread calls the driver}
     */
    public boolean isHeldByThisThread() {
        ThreadState here = ThreadState.current();
        return here.contains(this) || here.isUsedLater(this) || mayBeWaitedFor(here)
                || here.servesAnotherCall() && isClaimed();
    }

    /** Returns whether a call that uses it may wait for this thread, which runs a source of the program. */
    private boolean mayBeWaitedFor(ThreadState here) {
        return here.servesAnotherCall() && calls.users() > 0;
    }

    /** Begins a use that any thread may end by {@link #letGo}; false once closing has begun. */
    public boolean hold() {
        StackReserve.require();
        return calls.enter();
    }

    /** Ends what {@link #hold} began. */
    public void letGo() {
        calls.exit();
    }

    /** Begins a use that keeps it from being closed; false once closing has begun. */
    public boolean claim() {
        StackReserve.require();
        return claims.enter();
    }

    /** Ends what {@link #claim} began. */
    public void unclaim() {
        claims.exit();
    }

    /**
     * Begins a claim that messages name; null once closing has begun.
     *
     * @param lent what the loan keeps reachable
     * @param borrower its text names who lent it, and to whom
     */
    public @Nullable Loan lend(Object lent, Object borrower) {
        if (!claim()) {
            return null;
        }
        Loan loan = new Loan(this, lent, borrower);
        loans().add(loan);
        return loan;
    }

    private synchronized Set<Loan> loans() {
        Set<Loan> known = loans;
        if (known == null) {
            known = ConcurrentHashMap.newKeySet();
            loans = known;
        }
        return known;
    }

    void end(Loan loan) {
        loans().remove(loan);
        unclaim();
    }

    /**
     * Gives the right to close it away: from now on {@link #close} and claims are refused, and only {@link #closeGiven} releases it.
     *
     * @return false if it is claimed, given or closed already
     */
    public synchronized boolean give() {
        if (given) {
            return false;
        }
        // Before the claims close: a close at this moment must not wait for the release.
        given = true;
        if (!claims.closeIfIdle()) {
            given = false;
            return false;
        }
        return true;
    }

    /** {@return whether it was given away} */
    public boolean isGiven() {
        return given;
    }

    /**
     * Waits for calls in progress, then releases what {@link #give} gave. Exactly once, on any thread. A call that cannot end before
     * this returns is waited for on a thread of its own: a deleter of DLPack cannot refuse.
     */
    public void closeGiven() {
        boolean held = isHeldByThisThread();
        calls.turnAway();
        if (held) {
            Thread.ofPlatform().daemon().name("gds4j-given").start(this::releaseAfterCalls);
        } else {
            releaseAfterCalls();
        }
    }

    private void releaseAfterCalls() {
        calls.awaitLast();
        releaseNow();
    }

    /** {@return true while there is a claim} */
    public boolean isClaimed() {
        return claims.users() > 0;
    }

    /**
     * Waits for calls in progress, then releases. Idempotent: a later or simultaneous call returns when it is released.
     * An interrupt does not end the wait; the flag stays set.
     *
     * @param owner the object of this lifetime; it stays reachable meanwhile, or a collection could count it as forgotten
     * @param function names the failing function in an exception
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, inside a call of this thread that uses
     *         it, in work of a stream that uses it in later work, inside a source on a thread of the engine while it is in use,
     *         and while it is claimed; or what the release throws,
     *         and then it is closed
     */
    public void close(Object owner, String function) {
        try {
            close(function);
        } finally {
            Reference.reachabilityFence(owner);
        }
    }

    private void close(String function) {
        if (releaser == Thread.currentThread()) {
            return;
        }
        ThreadState here = ThreadState.current();
        if (here.contains(this)) {
            throw busy(function, "it cannot be closed from inside a call that uses it");
        }
        if (here.isUsedLater(this)) {
            throw busy(function, "it cannot be closed from work of a stream that uses it in later work");
        }
        if (mayBeWaitedFor(here)) {
            throw busy(function, "it is in use, and cannot be closed from inside a source that serves a call");
        }
        if (claims.closeIfIdle()) {
            calls.close();
            releaseNow();
        } else if (given && isOpen()) {
            throw busy(function, "it was given to another runtime, which closes it");
        } else if (claims.isClosed()) {
            Uninterruptibly.await(released::await);
        } else {
            throw busy(function, claimed());
        }
    }

    /**
     * Refuses what {@link #close} would refuse because of a claim. A claim that begins later is for the close to refuse.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while it is claimed
     */
    public void checkUnclaimed(String function) {
        if (isClaimed()) {
            throw busy(function, claimed());
        }
    }

    private String claimed() {
        Set<Loan> lent = loans;
        Iterator<Loan> open = lent == null ? Collections.emptyIterator() : lent.iterator();
        if (!open.hasNext()) {
            return "it is claimed by a registration or an entry of a batch: end that first";
        }
        int claimed = claims.users();
        return "it is lent by %s%s: end that first".formatted(
                open.next(), claimed > 1 ? ", the first of %s claims".formatted(claimed) : "");
    }

    private CuFileException busy(String function, String why) {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, function, what + ": " + why);
    }

    private void forgotten(CallSite site) {
        if (claims.closeIfIdle()) {
            System.getLogger("io.gds4j").log(Level.WARNING, what + " was never closed; made at " + site);
            calls.close();
            releaseNow();
        } else if (!claims.isClosed()) {
            // What claims it was forgotten as well, or is still in use: the next collection asks again.
            CLEANER.register(new Object(), () -> forgotten(site));
        }
    }

    private void releaseNow() {
        releaser = Thread.currentThread();
        try {
            release.run();
        } finally {
            releaser = null;
            released.countDown();
            if (cleanable != null) {
                cleanable.clean();
            }
        }
    }
}
