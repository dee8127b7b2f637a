package io.gds4j.loader.save;

/**
 * Keeps other saves from the same names, in this process and in others. A file holds the lock; the system drops the lock when the
 * process ends, however that happens, so a file that a crash left locks nothing.
 */
interface SaveLock extends AutoCloseable {
    /** Deletes the file and drops the lock. */
    @Override
    void close();
}
