package io.gds4j.spi;

/**
 * State of an entry of a batch ({@code CUfileStatus_t}), with cuFile's values.
 *
 * @since 0.1
 */
public enum BatchStatus {
    /** Not submitted yet. */
    WAITING(0x01),
    /** Submitted, not finished. */
    PENDING(0x02),
    /** Never enqueued: ill-formed. */
    INVALID(0x04),
    /** Cancelled before it began. */
    CANCELED(0x08),
    /** Done. */
    COMPLETE(0x10),
    /** Gave up waiting. */
    TIMEOUT(0x20),
    /** Failed. */
    FAILED(0x40);

    private final int value;

    BatchStatus(int value) {
        this.value = value;
    }

    /** {@return cuFile's number} */
    public int value() {
        return value;
    }
}
