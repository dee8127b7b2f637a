package io.gds4j.samples;

import java.io.OutputStream;
import java.io.PrintStream;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Discards what a test prints to standard output, as examples of the guides do. */
final class QuietOutput implements BeforeEachCallback, AfterEachCallback {
    private final PrintStream out = System.out;

    @Override
    public void beforeEach(ExtensionContext context) {
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
    }

    @Override
    public void afterEach(ExtensionContext context) {
        System.setOut(out);
    }
}
