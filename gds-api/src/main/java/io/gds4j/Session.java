package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.CuFileBackend;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What all references to one open driver share: the backend, and the objects to close before it.
 */
final class Session {
    private final CuFileBackend backend;
    private final Set<Resource> members = new LinkedHashSet<>();
    private int references;

    Session(CuFileBackend backend) {
        this.backend = backend;
    }

    CuFileBackend backend() {
        return backend;
    }

    /** Opens the driver once more: {@code cuFileDriverOpen}. */
    synchronized void open() {
        backend.driverOpen();
        references++;
    }

    synchronized boolean isOpen() {
        return references > 0;
    }

    synchronized int references() {
        return references;
    }

    void checkOpen(String function) {
        if (!isOpen()) {
            throw closed(function);
        }
    }

    static CuFileException closed(String function) {
        return CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
    }

    /** Members are closed with the session, the youngest first. */
    synchronized void add(String function, Resource member) {
        if (references == 0) {
            throw closed(function);
        }
        members.add(member);
    }

    synchronized void remove(Resource member) {
        members.remove(member);
    }

    /** Gives one reference up; the last one closes what is left and the driver: {@code cuFileDriverClose}. */
    void close() {
        Deque<Resource> left = new ArrayDeque<>();
        synchronized (this) {
            if (references > 1) {
                references--;
                backend.driverClose();
                return;
            }
            references = 0;
            left.addAll(members);
            members.clear();
        }
        @Nullable RuntimeException failure = null;
        while (!left.isEmpty()) {
            try {
                left.pollLast().close();
            } catch (RuntimeException e) {
                failure = collect(failure, e);
            }
        }
        try {
            backend.driverClose();
        } catch (RuntimeException e) {
            failure = collect(failure, e);
        }
        if (failure != null) {
            throw failure;
        }
    }

    private static RuntimeException collect(@Nullable RuntimeException first, RuntimeException next) {
        if (first == null) {
            return next;
        }
        first.addSuppressed(next);
        return first;
    }
}
