package io.gds4j.loader;

/**
 * The formats that {@link Checkpoint#open} reads.
 *
 * @since 0.1
 */
public enum CheckpointFormat {
    /** safetensors: one file, or several with or without an index. */
    SAFETENSORS("safetensors");

    private final String id;

    CheckpointFormat(String id) {
        this.id = id;
    }

    /** Returns the name in reports. */
    public String id() {
        return id;
    }
}
