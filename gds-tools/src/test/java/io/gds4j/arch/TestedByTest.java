package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Package-infos say which test fails if a class is wrong that no test names: {@code //   SomeTest: SomeClass, AnotherClass}. */
class TestedByTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    /** The modules that have these lines. */
    private static final List<String> MODULES = List.of(
            "gds-api", "gds-compat", "gds-dataset", "gds-engine", "gds-interop", "gds-libcufile", "gds-loader",
            "gds-native",
            "gds-remote", "gds-spark", "gds-testkit", "gds-tools");
    /** Lines of a source from which on a class must lead to its test. */
    private static final int MIN_LINES = 100;
    private static final Pattern LINE = Pattern.compile("^// {3}(\\w+): ([\\w, ]+)$", Pattern.MULTILINE);
    private static final Pattern NAME = Pattern.compile("\\b[A-Z]\\w+\\b");

    private final Set<String> tests = new HashSet<>();
    private final Set<String> namedInTests = new HashSet<>();

    private static List<Path> sources(String folder) throws IOException {
        List<Path> all = new ArrayList<>();
        try (Stream<Path> modules = Files.list(ROOT)) {
            Path java = Path.of("src", folder, "java");
            for (Path root : modules.map(module -> module.resolve(java)).filter(Files::isDirectory).toList()) {
                try (Stream<Path> files = Files.walk(root)) {
                    files.filter(file -> file.toString().endsWith(".java")).forEach(all::add);
                }
            }
        }
        return all;
    }

    private static String name(Path source) {
        return source.getFileName().toString().replace(".java", "");
    }

    private void readTests() throws IOException {
        for (Path source : sources("test")) {
            tests.add(name(source));
            NAME.matcher(Files.readString(source)).results().forEach(found -> namedInTests.add(found.group()));
        }
        // the suites of testkit-contract, which backends extend
        sources("main").stream().map(TestedByTest::name).filter(name -> name.endsWith("Contract")).forEach(tests::add);
    }

    @Test
    void everyLargeClassLeadsToATest() throws IOException {
        readTests();
        Map<Path, Set<String>> listed = new HashMap<>();
        List<String> wrong = new ArrayList<>();
        for (Path source : sources("main")) {
            Matcher line = LINE.matcher(name(source).equals("package-info") ? Files.readString(source) : "");
            while (line.find()) {
                if (!tests.contains(line.group(1))) {
                    wrong.add("%s names %s, which is no test".formatted(ROOT.relativize(source), line.group(1)));
                }
                for (String type : line.group(2).split(", ")) {
                    if (!Files.exists(source.resolveSibling(type + ".java"))) {
                        wrong.add("%s names %s, which is no class".formatted(ROOT.relativize(source), type));
                    }
                    listed.computeIfAbsent(source.getParent(), key -> new HashSet<>()).add(type);
                }
            }
        }
        for (Path source : sources("main")) {
            String type = name(source);
            if (MODULES.contains(ROOT.relativize(source).getName(0).toString())
                    && !namedInTests.contains(type)
                    && !tests.contains(type + "Test")
                    && !listed.getOrDefault(source.getParent(), Set.of()).contains(type)
                    && Files.readString(source).lines().count() >= MIN_LINES) {
                wrong.add("no test names %s, and its package-info names no test".formatted(ROOT.relativize(source)));
            }
        }
        assertThat(listed).isNotEmpty();
        assertThat(wrong).isEmpty();
    }
}
