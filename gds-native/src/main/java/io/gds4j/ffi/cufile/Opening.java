package io.gds4j.ffi.cufile;

import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * The library between one cuFileDriverOpen and its cuFileDriverClose, with what is known in it process-wide. Handles,
 * registrations and batches belong to one opening and are never shown to the library after it.
 */
final class Opening {
    private final CuFileLibrary library;
    private final LibrarySettings settings;
    private final DriverProperties properties;
    private final Registrations registrations;
    private final SlabBudget slabs;
    private final LibraryStatistics statistics;
    private final ReentrantReadWriteLock life = new ReentrantReadWriteLock();
    private boolean alive = true;
    private volatile boolean exiting;

    Opening(
            CuFileLibrary library, LibrarySettings settings, DriverProperties properties, StreamWaits waits) {
        this.library = library;
        this.settings = settings;
        this.properties = properties;
        this.registrations = new Registrations(library, waits);
        this.statistics = new LibraryStatistics(
                library, settings.get(CuFileKeys.PROFILE_CUFILE_STATS).intValue());
        this.slabs = settings.allowsPosix() ? SlabBudget.of(settings.posixPoolSlabs()) : SlabBudget.unlimited();
    }

    CuFileLibrary library() {
        return library;
    }

    LibrarySettings settings() {
        return settings;
    }

    /** What the driver said of itself when it was opened. */
    DriverProperties properties() {
        return properties;
    }

    Registrations registrations() {
        return registrations;
    }

    SlabBudget slabs() {
        return slabs;
    }

    LibraryStatistics statistics() {
        return statistics;
    }

    /** Nothing of it is shown to the library from now on; waits for who is inside {@link #whileAlive}. */
    void end() {
        life.writeLock().lock();
        try {
            alive = false;
        } finally {
            life.writeLock().unlock();
        }
    }

    /**
     * Makes a call that no transfer covers. Made after the library was closed some open it again, under the hands of whoever
     * opens it next.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if it is closed, DRIVER_CLOSING if it was when the JVM began to exit
     */
    <T> T whileAlive(String function, Supplier<T> call) {
        life.readLock().lock();
        try {
            if (!alive) {
                throw exiting
                        ? CuFileException.of(CuFileError.DRIVER_CLOSING, function, "the JVM is exiting")
                        : LibCuFileSession.closed(function);
            }
            return call.get();
        } finally {
            life.readLock().unlock();
        }
    }

    /** The same for a call without a value. */
    void runWhileAlive(String function, Runnable call) {
        whileAlive(function, () -> {
            call.run();
            return true;
        });
    }

    /** Takes something back from the library, unless it was closed, which has taken all back. */
    void ifAlive(Runnable call) {
        life.readLock().lock();
        try {
            if (alive) {
                call.run();
            }
        } finally {
            life.readLock().unlock();
        }
    }

    /** True once the JVM exits: nothing new may begin. */
    boolean isExiting() {
        return exiting;
    }

    void beginExit() {
        exiting = true;
    }
}
