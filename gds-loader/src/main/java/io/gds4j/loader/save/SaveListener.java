package io.gds4j.loader.save;

/**
 * Receives the events of a save on threads of the save, one call at a time. An exception ends the save, which throws it as it is.
 * A listener must not close the driver of the save and must not wait for the save.
 *
 * @since 0.1
 */
public interface SaveListener {
    /** A listener that ignores all events. */
    SaveListener NONE = new SaveListener() {
    };

    /**
     * Called after each write.
     *
     * @param bytesDone bytes written so far, headers included
     * @param bytesTotal bytes of all files
     */
    default void progress(long bytesDone, long bytesTotal) {
    }

    /** Called once when the program may change the tensors again. */
    default void released() {
    }
}
