package io.gds4j.samples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Runs one sample for its {@code main}: in a temporary folder, which is removed afterwards. */
final class SampleMain {
    private SampleMain() {
    }

    /**
     * Runs a sample and prints what it measured.
     *
     * @param sample the sample
     * @param options options of a command line, as {@link SampleArguments#read} takes them
     */
    static void run(Sample sample, String... options) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory(Path.of(""), "gds-sample-");
        try {
            SampleResult result = sample.run(SampleArguments.read(folder, System.out::println, options));
            result.lines().forEach(System.out::println);
        } finally {
            remove(folder);
        }
    }

    private static void remove(Path folder) throws IOException {
        List<Path> deepestFirst;
        try (Stream<Path> walk = Files.walk(folder)) {
            deepestFirst = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : deepestFirst) {
            Files.deleteIfExists(path);
        }
    }
}
