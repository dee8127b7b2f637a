package io.gds4j;

import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.spi.CuFileBackend;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One use of a session, behind a {@link CuFileDriver}. Handles, buffers, batches and streams refer to it, so that the garbage
 * collector cannot find a forgotten driver before them.
 */
final class SessionUse {
    private final Session session;
    private final Lifetime lifetime;

    /** @param session has counted this use; the constructor releases it if it fails */
    SessionUse(Session session) {
        this.session = session;
        try {
            this.lifetime = Lifetime.of(this, "CuFileDriver", session::release);
        } catch (RuntimeException | Error e) {
            session.release();
            throw e;
        }
    }

    Session session() {
        return session;
    }

    /** Adds a use of the same session. */
    SessionUse share() {
        checkOpen("cuFileDriverOpen");
        session.share();
        return new SessionUse(session);
    }

    boolean isOpen() {
        return lifetime.isOpen() && session.isOpen();
    }

    void checkOpen(String function) {
        if (!isOpen()) {
            throw Session.closed(function);
        }
    }

    <R> R call(String function, Function<CuFileBackend, R> body) {
        checkOpen(function);
        return session.call(function, body);
    }

    void run(String function, Consumer<CuFileBackend> body) {
        checkOpen(function);
        session.run(function, body);
    }

    /** See {@link CuFileDriver#close}. */
    void close() {
        if (lifetime.isOpen()) {
            session.checkMayRelease();
        }
        lifetime.close(this, "cuFileDriverClose");
    }

    @Override
    public String toString() {
        return "CuFileDriver[%s, %s]".formatted(session.backend().name(), isOpen() ? "open" : "closed");
    }
}
