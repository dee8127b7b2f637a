package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The two backends of a {@link RoutingBackend} and what is open of them: the first with the driver, the second when it is
 * first needed. Registered memory is shown to both.
 */
final class BackendPair {
    static final Logger LOG = System.getLogger("io.gds4j");

    private final CuFileBackend first;
    private final Supplier<CuFileBackend> maker;
    private final Map<Long, Buffer> buffers = new LinkedHashMap<>();
    private volatile boolean firstIsOpen;
    private volatile String whyNotFirst = "";
    private @Nullable CuFileBackend second;
    private volatile @Nullable CuFileBackend openSecond;
    private volatile long users;
    private long session;

    private record Buffer(MemoryRange range, int flags) {
    }

    BackendPair(CuFileBackend first, Supplier<CuFileBackend> maker) {
        this.first = first;
        this.maker = maker;
    }

    CuFileBackend first() {
        return first;
    }

    boolean isFirstOpen() {
        return firstIsOpen;
    }

    /** Why the first one is not open although the driver is; empty if it is. */
    String whyNotFirst() {
        return whyNotFirst;
    }

    /** The one that answers what concerns no file. */
    CuFileBackend speaker() {
        return whyNotFirst.isEmpty() ? first : made();
    }

    long users() {
        return users;
    }

    void checkOpen(String function) {
        if (users == 0) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
        }
    }

    /** Returns the number of the open driver; each open has another. */
    synchronized long session() {
        return session;
    }

    /**
     * Does something before the driver can close, so that descriptors of its files are still theirs.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if that session is over
     */
    synchronized <T> T duringSession(long wanted, String function, Supplier<T> action) {
        checkOpen(function);
        if (session != wanted) {
            throw CuFileException.of(
                    CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver was closed and opened again meanwhile");
        }
        return action.get();
    }

    synchronized void open() {
        if (users == 0) {
            openFirst();
        }
        users++;
    }

    synchronized void openImplicitly() {
        if (users == 0) {
            open();
        }
    }

    private void openFirst() {
        whyNotFirst = "";
        try {
            first.driverOpen();
            firstIsOpen = true;
        } catch (CuFileException e) {
            if (e.error() == CuFileError.DRIVER_ALREADY_OPEN) {
                throw e;
            }
            CuFileBackend other = openSecond();
            whyNotFirst = "%s cannot be opened: %s".formatted(first.name(), e.getMessage());
            LOG.log(Level.WARNING, "{0}; {1} serves instead", whyNotFirst, other.name());
        }
    }

    synchronized void close() {
        checkOpen("cuFileDriverClose");
        users--;
        if (users > 0) {
            return;
        }
        session++;
        buffers.clear();
        boolean closeFirst = firstIsOpen;
        CuFileBackend closeSecond = openSecond;
        firstIsOpen = false;
        openSecond = null;
        try {
            if (closeFirst) {
                first.driverClose();
            }
        } finally {
            if (closeSecond != null) {
                closeSecond.driverClose();
            }
        }
    }

    private synchronized CuFileBackend made() {
        CuFileBackend known = second;
        if (known == null) {
            known = maker.get();
            second = known;
        }
        return known;
    }

    synchronized @Nullable CuFileBackend secondIfMade() {
        return second;
    }

    @Nullable
    CuFileBackend secondIfOpen() {
        return openSecond;
    }

    /**
     * The second one, opened now if it was not.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if the driver is closed, or was closed meanwhile
     */
    CuFileBackend second() {
        CuFileBackend open = openSecond;
        return open != null ? open : openSecondWithDriver();
    }

    private synchronized CuFileBackend openSecondWithDriver() {
        checkOpen("cuFileDriverOpen");
        return openSecond();
    }

    private synchronized CuFileBackend openSecond() {
        CuFileBackend open = openSecond;
        if (open == null) {
            CuFileBackend other = made();
            other.driverOpen();
            buffers.values().forEach(buffer -> other.bufRegister(buffer.range, buffer.flags));
            openSecond = other;
            open = other;
        }
        return open;
    }

    /** Which of the ways to register. */
    interface Registration {
        void run(CuFileBackend backend, MemoryRange range, int flags);
    }

    synchronized void register(MemoryRange range, int flags, Registration way) {
        openImplicitly();
        if (firstIsOpen) {
            way.run(first, range, flags);
        }
        CuFileBackend other = openSecond;
        if (other != null) {
            try {
                way.run(other, range, flags);
            } catch (CuFileException e) {
                if (firstIsOpen) {
                    first.bufDeregister(range);
                }
                throw e;
            }
        }
        buffers.put(range.address(), new Buffer(range, flags));
    }

    synchronized void deregister(MemoryRange range) {
        if (users == 0) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, "cuFileBufDeregister", "the driver is closed");
        }
        if (buffers.remove(range.address()) == null) {
            throw CuFileException.of(
                    CuFileError.MEMORY_NOT_REGISTERED,
                    "cuFileBufDeregister",
                    "no buffer is registered at 0x%x".formatted(range.address()));
        }
        CuFileBackend other = openSecond;
        try {
            if (firstIsOpen) {
                first.bufDeregister(range);
            }
        } finally {
            if (other != null) {
                other.bufDeregister(range);
            }
        }
    }
}
