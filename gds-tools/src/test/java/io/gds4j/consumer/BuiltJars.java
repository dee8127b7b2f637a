package io.gds4j.consumer;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The jars under gds-tools/target, as the build creates them. */
final class BuiltJars {
    private static final Path LIB = Path.of("target", "lib").toAbsolutePath();

    private BuiltJars() {
    }

    /** Returns the jars whose file names start with one of these names and a version. */
    static List<Path> named(String... names) throws IOException {
        return find(file -> Stream.of(names).anyMatch(name -> file.matches(name + "-\\d.*\\.jar")));
    }

    /** Returns the jars of gds4j, without the samples. */
    static List<Path> own() throws IOException {
        return find(file -> file.startsWith("gds-") || file.matches("gds4j-\\d.*\\.jar"));
    }

    /** Returns what a build tool adds for the one dependency {@code io.gds4j:gds4j}. */
    static List<Path> ofTheOneDependency() throws IOException {
        return named("gds4j", "gds-api", "gds-native", "gds-engine", "gds-compat", "gds-libcufile", "gds-loader",
                "jackson-core", "jspecify");
    }

    /** Returns the jars that a program needs to use the compat backend. */
    static List<Path> ofApiAndCompat() throws IOException {
        return named("gds-api", "gds-native", "gds-engine", "gds-compat", "jackson-core");
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
