package io.gds4j.engine.lifecycle;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import org.jspecify.annotations.Nullable;

/**
 * The users of a backend's driver: the first one opens a session, the last one ends it. Its monitor is held while a session opens.
 *
 * @param <S> the session
 */
public final class DriverUses<S> {
    private final Sessions<S> sessions;

    /** Changed under the lock; read without it, because every request reads it. */
    private volatile @Nullable S session;

    /** Number of opens without a close. */
    private long users;

    /** What a backend does when its driver opens and closes. */
    public interface Sessions<S> {
        /** Opens a session. Called under the lock. */
        S open();

        /** Gives up what the next open needs. Called under the lock, which the last user holds. */
        default void leave(S last) {
            // nothing is given up
        }

        /** Ends a session that no new call can find. Another one may open meanwhile. */
        void end(S last);

        /** Ends what sessions share. Called under the lock after {@link #end}, unless another session is open. */
        void rest();

        /** Makes the exception of a call while the driver is closed. */
        CuFileException closed(String function);
    }

    public DriverUses(Sessions<S> sessions) {
        this.sessions = sessions;
    }

    /** Returns the session of the open driver, or null while the driver is closed. */
    public @Nullable S session() {
        return session;
    }

    /**
     * Returns the session of the open driver.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED while the driver is closed
     */
    public S current(String function) {
        S open = session;
        if (open == null) {
            throw sessions.closed(function);
        }
        return open;
    }

    /** Returns the session of the open driver; opens the driver if it is closed. */
    public S openImplicitly() {
        S open = session;
        if (open != null) {
            return open;
        }
        synchronized (this) {
            if (session == null) {
                open();
            }
            return current("cuFileDriverOpen");
        }
    }

    public synchronized void open() {
        if (session == null) {
            session = sessions.open();
        }
        users++;
    }

    public void close() {
        S last = null;
        synchronized (this) {
            S open = session;
            if (open == null) {
                throw CuFileException.of(
                        CuFileError.DRIVER_NOT_INITIALIZED, "cuFileDriverClose", "the driver is not open");
            }
            users--;
            if (users == 0) {
                last = open;
                sessions.leave(open);
                session = null;
            }
        }
        if (last != null) {
            try {
                sessions.end(last);
            } finally {
                restIfClosed();
            }
        }
    }

    private synchronized void restIfClosed() {
        if (session == null) {
            sessions.rest();
        }
    }

    public synchronized long count() {
        return users;
    }
}
