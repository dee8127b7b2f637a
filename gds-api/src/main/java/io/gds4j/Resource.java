package io.gds4j;

import io.gds4j.memory.CallSite;
import io.gds4j.memory.InFlight;
import java.lang.System.Logger.Level;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The native side of a public object: counts its users, and releases it once, after the last has left; when the object is
 * closed, when its session closes, or, with a warning that names where it was made, when it was forgotten.
 */
final class Resource {
    private static final Cleaner CLEANER = Cleaner.create();

    private final InFlight inFlight = new InFlight();
    private final AtomicBoolean released = new AtomicBoolean();
    private final String what;
    private final Runnable release;
    private final Runnable unlist;
    private Cleaner.@Nullable Cleanable cleanable;

    private Resource(String what, Runnable release, @Nullable Session session) {
        this.what = what;
        this.release = release;
        this.unlist = session == null ? () -> {
        } : () -> session.remove(this);
    }

    /**
     * Watches a new object, and lists it with its session.
     *
     * @param release frees the native side; must refer to nothing that refers to {@code owner}
     */
    static Resource of(Object owner, Session session, String function, String what, Runnable release) {
        Resource resource = new Resource(describe(what), release, session);
        try {
            session.add(function, resource);
        } catch (RuntimeException e) {
            release.run();
            throw e;
        }
        resource.cleanable = CLEANER.register(owner, resource::forgotten);
        return resource;
    }

    /** Watches an object that no session lists. */
    static Resource of(Object owner, String what, Runnable release) {
        Resource resource = new Resource(describe(what), release, null);
        resource.cleanable = CLEANER.register(owner, resource::forgotten);
        return resource;
    }

    private static String describe(String what) {
        return what + " made at " + CallSite.outside("io.gds4j.");
    }

    /** Counts one user in; false once closing has begun. */
    boolean enter() {
        return inFlight.enter();
    }

    void exit() {
        inFlight.exit();
    }

    boolean isOpen() {
        return !inFlight.isClosed();
    }

    /** Waits for the users, then releases; idempotent. A second closer returns at once. */
    void close() {
        if (inFlight.close()) {
            unlist.run();
            releaseOnce();
            if (cleanable != null) {
                cleanable.clean();
            }
        }
    }

    private void forgotten() {
        if (inFlight.close()) {
            System.getLogger("io.gds4j").log(Level.WARNING, "never closed: {0}", what);
            unlist.run();
            releaseOnce();
        }
    }

    private void releaseOnce() {
        if (released.compareAndSet(false, true)) {
            release.run();
        }
    }
}
