package io.gds4j.loader.save;

import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.Workers;

/** What the writer of files needs of the save that it works for. */
interface SaveControl {
    /** Runs threads until they end, and throws their failure. */
    void run(Workers workers);

    /** Throws if the save was cancelled. */
    void checkStopped();

    /** Returns what counts the bytes of the save. */
    MovedBytes moved();
}
