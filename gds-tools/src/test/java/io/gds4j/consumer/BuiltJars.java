package io.gds4j.consumer;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The jars as the build made them, under gds-tools/target. */
final class BuiltJars {
    private static final Path LIB = Path.of("target", "lib").toAbsolutePath();

    private BuiltJars() {
    }

    /** The jars whose file name begins with one of these words and a digit of the version after it. */
    static List<Path> named(String... names) throws IOException {
        return find(file -> Stream.of(names).anyMatch(name -> file.matches(name + "-\\d.*\\.jar")));
    }

    /** gds4j's own. */
    static List<Path> own() throws IOException {
        return find(file -> file.startsWith("gds-"));
    }

    /** What a program needs at run time that reads and writes files by the POSIX engine. */
    static List<Path> ofApiAndCompat() throws IOException {
        return named("gds-api", "gds-native", "gds-compat", "jackson-core", "jackson-databind", "jackson-annotations");
    }

    static String path(List<Path> jars) {
        return jars.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    private static List<Path> find(Predicate<String> wanted) throws IOException {
        try (Stream<Path> files = Files.list(LIB)) {
            return files.filter(file -> wanted.test(file.getFileName().toString())).sorted().toList();
        }
    }
}
