package io.gds4j.remote;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** The clock of this machine, moved to that of a server that refuses its time. Thread-safe. */
final class ServerClock implements InstantSource {
    /** Servers take a quarter of an hour; the SDKs of AWS correct from 4 minutes on. */
    private static final Duration MIN_SKEW = Duration.ofMinutes(4);

    private final InstantSource machine;
    private volatile Duration offset = Duration.ZERO;

    ServerClock(InstantSource machine) {
        this.machine = machine;
    }

    @Override
    public Instant instant() {
        return machine.instant().plus(offset);
    }

    /**
     * Takes the time of a server that refused a signature.
     *
     * @param signed time of the signature
     * @return false if it was about the same
     */
    boolean corrects(Instant signed, Instant ofServer) {
        if (Duration.between(signed, ofServer).abs().compareTo(MIN_SKEW) < 0) {
            return false;
        }
        Duration known = offset;
        offset = Duration.between(machine.instant(), ofServer);
        if (known.minus(offset).abs().compareTo(MIN_SKEW) >= 0) { // else another request has told it
            System.getLogger("io.gds4j.remote").log(
                    System.Logger.Level.WARNING,
                    "the clock of the server differs from that of this machine by {0} s: signatures have its time",
                    Long.toString(offset.toSeconds()));
        }
        return true;
    }
}
