package io.gds4j.ffi.nvtx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The library of a profiler, compiled for a test that an assumption ends where there is no C compiler. */
public final class TestProfiler {
    private TestProfiler() {
    }

    /** Returns the library; {@code options} are those of the compiler. */
    public static Path compile(Path folder, String... options) throws IOException, InterruptedException {
        Path source = folder.resolve("injection.c");
        try (InputStream text = TestProfiler.class.getResourceAsStream("injection.c")) {
            assertThat(text).isNotNull();
            Files.write(source, text.readAllBytes());
        }
        Path library = Files.createTempFile(folder, "injection", ".so");
        List<String> command = new ArrayList<>(
                List.of("gcc", "-shared", "-fPIC", "-Wall", "-o", library.toString(), source.toString()));
        command.addAll(List.of(options));
        Process compiler;
        try {
            compiler = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            assumeTrue(false, "no gcc here: " + e.getMessage());
            throw e;
        }
        String output = new String(compiler.getInputStream().readAllBytes());
        assertThat(compiler.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(compiler.exitValue()).as(output).isZero();
        return library;
    }
}
