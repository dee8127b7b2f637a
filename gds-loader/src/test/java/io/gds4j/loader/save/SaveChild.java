package io.gds4j.loader.save;

import java.nio.file.Path;

/** A process that saves to a folder and dies after a number of calls, without a chance to clean up. */
final class SaveChild {
    /** Exit status of a process that SIGKILL ended. */
    static final int KILLED = 137;
    static final long SEED = 7;

    private SaveChild() {
    }

    /** @param arguments folder, size of shards, number of calls */
    public static void main(String[] arguments) {
        int last = Integer.parseInt(arguments[2]);
        SaveCrashTest.save(
                Path.of(arguments[0]),
                SEED,
                Long.parseLong(arguments[1]),
                new WatchedCalls((number, name) -> {
                    if (number > last) {
                        Runtime.getRuntime().halt(KILLED);
                    }
                }));
    }
}
