package io.gds4j;

import io.gds4j.internal.lifetime.InFlight;

/** The validity of a window: killing its key makes every later use fail. Holds no reference to the buffer. */
final class WindowKey {
    private final long number;
    private final long offset;
    private final long length;
    private final int rights;
    private final InFlight requests = new InFlight();

    WindowKey(long number, long offset, long length, int rights) {
        this.number = number;
        this.offset = offset;
        this.length = length;
        this.rights = rights;
    }

    long number() {
        return number;
    }

    long offset() {
        return offset;
    }

    long length() {
        return length;
    }

    int rights() {
        return rights;
    }

    /** Begins a request; false if the key is dead. */
    boolean enter() {
        return requests.enter();
    }

    void exit() {
        requests.exit();
    }

    boolean isAlive() {
        return !requests.isClosed();
    }

    boolean isUsed() {
        return requests.users() > 0;
    }

    /** Refuses later requests; requests in flight continue. */
    void kill() {
        requests.turnAway();
    }

    @Override
    public String toString() {
        return "window %s (offset=%s, length=%s, %s)".formatted(number, offset, length, BufferRight.ofBits(rights));
    }
}
