package io.gds4j.libcufile.process;

import io.gds4j.config.DriverProperties;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cufile.CuFileLibrary;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * The library between one cuFileDriverOpen and its cuFileDriverClose, with its state for the whole process. Handles,
 * registrations and batches belong to one open library and never reach the library after its close.
 */
public final class OpenLibrary {
    private final CuFileLibrary library;
    private final LibrarySettings settings;
    private final DriverProperties properties;
    private final Registrations registrations;
    private final SlabBudget slabs;
    private final ReentrantReadWriteLock life = new ReentrantReadWriteLock();
    private boolean alive = true;
    private volatile boolean exiting;

    OpenLibrary(
            CuFileLibrary library, LibrarySettings settings, DriverProperties properties, StreamWaits waits) {
        this.library = library;
        this.settings = settings;
        this.properties = properties;
        this.registrations = new Registrations(library, waits);
        this.slabs = settings.allowsPosix() ? SlabBudget.of(settings.posixPoolSlabs()) : SlabBudget.unlimited();
    }

    public CuFileLibrary library() {
        return library;
    }

    public LibrarySettings settings() {
        return settings;
    }

    /** Driver properties as the library reported them when it was opened. */
    public DriverProperties properties() {
        return properties;
    }

    public Registrations registrations() {
        return registrations;
    }

    public SlabBudget slabs() {
        return slabs;
    }

    /** Waits for calls inside {@link #whileAlive} and keeps all later ones from the library. */
    void end() {
        life.writeLock().lock();
        try {
            alive = false;
        } finally {
            life.writeLock().unlock();
        }
    }

    /**
     * Makes a call that belongs to no transfer. Some functions implicitly reopen a closed library and race with the
     * next open, so none is called after the close.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if the library is closed, DRIVER_CLOSING if the JVM's exit closed
     *         it
     */
    public <T> T whileAlive(String function, Supplier<T> call) {
        life.readLock().lock();
        try {
            if (!alive) {
                throw exiting
                        ? CuFileException.of(CuFileError.DRIVER_CLOSING, function, "the JVM is exiting")
                        : closed(function);
            }
            return call.get();
        } finally {
            life.readLock().unlock();
        }
    }

    /** The failure of a function that needs an open driver. */
    public static CuFileException closed(String function) {
        return CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
    }

    /** As {@link #whileAlive}, for a call without a value. */
    public void runWhileAlive(String function, Runnable call) {
        whileAlive(function, () -> {
            call.run();
            return true;
        });
    }

    /** Makes a call that takes something back from the library. Does nothing after the close, which takes back everything. */
    public void ifAlive(Runnable call) {
        life.readLock().lock();
        try {
            if (alive) {
                call.run();
            }
        } finally {
            life.readLock().unlock();
        }
    }

    /** True once the JVM exits; no new call may begin then. */
    public boolean isExiting() {
        return exiting;
    }

    void beginExit() {
        exiting = true;
    }
}
