package io.gds4j.spi;

/**
 * The state of an entry of a batch ({@code CUfileStatus_t}), with cuFile's values.
 *
 * @since 0.1
 */
public enum BatchStatus {
    /** Not submitted yet. */
    WAITING(0x01),
    /** Submitted, not finished. */
    PENDING(0x02),
    /** Invalid and never enqueued. */
    INVALID(0x04),
    /** Cancelled before it began. */
    CANCELED(0x08),
    /** Succeeded. */
    COMPLETE(0x10),
    /** Timed out. */
    TIMEOUT(0x20),
    /** Failed. */
    FAILED(0x40);

    private final int value;

    BatchStatus(int value) {
        this.value = value;
    }

    /** {@return cuFile's value} */
    public int value() {
        return value;
    }
}
