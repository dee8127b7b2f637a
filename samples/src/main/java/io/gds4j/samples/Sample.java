package io.gds4j.samples;

import java.io.IOException;

/** A program that shows one thing. */
@FunctionalInterface
public interface Sample {
    /**
     * Runs it: makes its own files in the folder of the arguments, moves bytes, and compares them.
     *
     * @param arguments what it was asked for
     * @return what it measured and whether the bytes were right
     * @throws IOException if a file could not be made
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    SampleResult run(SampleArguments arguments) throws IOException, InterruptedException;
}
