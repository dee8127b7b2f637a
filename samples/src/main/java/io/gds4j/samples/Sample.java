package io.gds4j.samples;

import java.io.IOException;

/** A small program that shows one feature. */
@FunctionalInterface
public interface Sample {
    /**
     * Runs the sample: creates its files in the folder of the arguments, moves bytes, and compares them.
     *
     * @param arguments sizes, memory kind and folder
     * @return what it measured, and whether the bytes were right
     * @throws IOException if a file could not be created or read
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    SampleResult run(SampleArguments arguments) throws IOException, InterruptedException;
}
