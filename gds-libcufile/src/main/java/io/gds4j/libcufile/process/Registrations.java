package io.gds4j.libcufile.process;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.internal.lifetime.InFlight;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Memory that is registered with the open library, by base address and counted over all sessions: the library knows
 * each base once for the whole process. A lookup takes no lock and allocates nothing.
 */
public final class Registrations {
    private static final Registration[] NONE = {};

    private final CuFileLibrary library;
    private final StreamWaits waits;
    private volatile Registration[] byBase = NONE;

    /** @param waits streams that wait for gds4j; unpinning memory waits for all streams */
    Registrations(CuFileLibrary library, StreamWaits waits) {
        this.library = library;
        this.waits = waits;
    }

    /** One base address. A transfer from it stands between {@link #enter} and {@link #exit}. */
    public static final class Registration {
        private final long base;
        private final long length;
        private final InFlight transfers = new InFlight();
        private int owners = 1;

        private Registration(long base, long length) {
            this.base = base;
            this.length = length;
        }

        /** Bytes that the library has mapped; a transfer from this base must not reach past them. */
        public long length() {
            return length;
        }

        /** False while it is being taken back. */
        private boolean enter() {
            return transfers.enter();
        }

        public void exit() {
            transfers.exit();
        }
    }

    /** Returns the registration at this base. */
    @Nullable
    public Registration find(long base) {
        Registration[] now = byBase;
        int at = indexOf(now, base);
        return at < 0 ? null : now[at];
    }

    /** Enters the registration at this base, if there is one; waits while it is being released. */
    @Nullable
    public Registration enter(long base) {
        Registration known = find(base);
        return known == null || known.enter() ? known : enterSettled(base);
    }

    /** Waits until no thread changes registrations, then enters the one at this base, if there is one. */
    private synchronized @Nullable Registration enterSettled(long base) {
        Registration known = find(base);
        return known != null && known.enter() ? known : null;
    }

    /**
     * Registers a range, or adds an owner to the registration at its base. The memory's CUDA context is current. No
     * stream waits for gds4j, because the library pins the memory.
     *
     * @throws CuFileException as the library refuses; MEMORY_ALREADY_REGISTERED if it knows a shorter range at this
     *         base
     */
    public synchronized Registration acquire(long base, long length, int flags) {
        Registration known = find(base);
        if (known != null) {
            if (known.length < length) {
                throw CuFileException.of(
                        CuFileError.MEMORY_ALREADY_REGISTERED,
                        "cuFileBufRegister",
                        "%s bytes are registered at 0x%x already".formatted(known.length, base));
            }
            known.owners++;
            return known;
        }
        library.bufRegister(base, length, flags);
        Registration made = new Registration(base, length);
        insert(made);
        return made;
    }

    /** As {@link #acquire}; null if the library refuses, and the memory must be used unregistered. */
    @Nullable
    public Registration tryAcquire(long base, long length, int flags) {
        try {
            return acquire(base, length, flags);
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.libcufile")
                    .log(Level.DEBUG, "memory stays unregistered: address=0x{0}, length={1}: {2}",
                            Long.toHexString(base), length, e.getMessage());
            return null;
        }
    }

    /**
     * Removes an owner. For the last one, waits for transfers and for a time without waiting streams, then takes the
     * memory back.
     */
    public void release(Registration registration) {
        if (isOwnedAfterRelease(registration)) {
            return;
        }
        waits.whileNone(() -> takeBack(registration));
    }

    private synchronized boolean isOwnedAfterRelease(Registration registration) {
        registration.owners--;
        return registration.owners > 0;
    }

    /** Does nothing if the registration has a new owner, or was already taken back. */
    private synchronized void takeBack(Registration registration) {
        if (registration.owners == 0 && find(registration.base) == registration) {
            registration.transfers.close();
            remove(registration);
            deregister(registration.base);
        }
    }

    /** The library sometimes loses a registration beside unregistered transfers of the same memory: nothing is left to do. */
    private void deregister(long base) {
        try {
            library.bufDeregister(base);
        } catch (CuFileException e) {
            if (e.error() != CuFileError.MEMORY_NOT_REGISTERED) {
                throw e;
            }
            System.getLogger("io.gds4j.libcufile")
                    .log(Level.DEBUG, "libcufile has lost a registration: address=0x{0}", Long.toHexString(base));
        }
    }

    /** Registrations now; for tests. */
    int size() {
        return byBase.length;
    }

    private void insert(Registration made) {
        Registration[] now = byBase;
        int at = -indexOf(now, made.base) - 1;
        Registration[] next = new Registration[now.length + 1];
        System.arraycopy(now, 0, next, 0, at);
        next[at] = made;
        System.arraycopy(now, at, next, at + 1, now.length - at);
        byBase = next;
    }

    private void remove(Registration gone) {
        byBase = Arrays.stream(byBase).filter(one -> one != gone).toArray(Registration[]::new);
    }

    private static int indexOf(Registration[] sorted, long base) {
        int low = 0;
        int high = sorted.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int order = Long.compareUnsigned(sorted[middle].base, base);
            if (order < 0) {
                low = middle + 1;
            } else if (order > 0) {
                high = middle - 1;
            } else {
                return middle;
            }
        }
        return -(low + 1);
    }
}
