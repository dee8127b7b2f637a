package io.gds4j.arch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What docs/architecture.md says of classes, and how large they are: of the sources, also of modules that are not built here. */
class ArchitecturePageTest {
    private static final Path ROOT = Path.of("..");
    private static final Path PAGE = ROOT.resolve("docs/architecture.md");
    private static final int MAX_PAGE_LINES = 150;
    private static final int MAX_LINES = 400;

    /** Longer: the faces of the API, and bindings with a method for each function of a library. */
    private static final Set<String> LONGER = Set.of(
            "CuFileHandle.java", "CuFileDriver.java", "FfmCuda.java", "FfmPosix.java", "FfmVerbs.java",
            "FfmCuFileLibrary.java");
    private static final Pattern CLASS = Pattern.compile("`([A-Z][A-Za-z0-9]+)`");
    private static final Pattern PACKAGE = Pattern.compile("`([a-z0-9.]+)(?:\\{([a-z0-9,]+)})?`");
    private static final Pattern FILE = Pattern.compile("`([a-z-]+\\.ptx)`");

    private static List<Path> mainSources() throws IOException {
        try (Stream<Path> modules = Files.list(ROOT)) {
            return modules.map(module -> module.resolve("src/main")).filter(Files::isDirectory)
                    .flatMap(ArchitecturePageTest::walk).toList();
        }
    }

    private static Stream<Path> walk(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void everyClassAndFileOfTheTableExists() throws IOException {
        Set<String> names = mainSources().stream().map(path -> path.getFileName().toString())
                .collect(Collectors.toSet());
        String page = Files.readString(PAGE);
        String table = page.substring(page.indexOf("## Where to look"), page.indexOf("## Inside"));
        // The JDK's, cuFile's and the API's types stand in questions; classes of ours in answers.
        List<String> answers = table.lines().filter(line -> line.startsWith("|")).skip(2)
                .map(line -> line.substring(line.indexOf('|', 1))).toList();
        assertThat(answers).hasSizeGreaterThan(25);
        assertThat(
                answers.stream().flatMap(line -> CLASS.matcher(line).results()).map(found -> found.group(1) + ".java"))
                .isNotEmpty().allMatch(names::contains);
        assertThat(answers.stream().flatMap(line -> FILE.matcher(line).results())
                .map((MatchResult found) -> found.group(1)))
                .isNotEmpty().allMatch(names::contains);
    }

    /** A name that begins with a dot is below the package that the row of the module names first. */
    @Test
    void tableOfModulesNamesEveryPackage() throws IOException {
        String page = Files.readString(PAGE);
        Map<String, Set<String>> named = new TreeMap<>();
        String module = "";
        String root = "";
        for (String line : page.substring(0, page.indexOf("\nRules, ")).lines()
                .filter(line -> line.startsWith("| ")).skip(2).toList()) {
            String[] cells = line.split("\\|");
            module = cells[1].isBlank() ? module : cells[1].strip();
            Set<String> packages = named.computeIfAbsent(module, any -> new TreeSet<>());
            for (MatchResult name : PACKAGE.matcher(cells[2]).results().toList()) {
                for (String last : name.group(2) == null ? List.of("") : List.of(name.group(2).split(","))) {
                    String whole = (name.group(1).startsWith(".") ? root : "") + name.group(1) + last;
                    root = packages.isEmpty() ? whole : root;
                    packages.add(whole);
                }
            }
        }
        Map<String, Set<String>> there = new TreeMap<>();
        named.keySet().forEach(name -> there.put(name, packages(ROOT.resolve(name).resolve("src/main/java"))));
        there.put("benchmarks", Set.of()); // one lies in a package of the API, to reach what no program does

        assertThat(named).containsExactlyEntriesOf(there);
        assertThat(mainSources().stream().map(source -> ROOT.relativize(source).getName(0).toString()))
                .allMatch(named::containsKey);
        assertThat(page.lines().count()).isLessThanOrEqualTo(MAX_PAGE_LINES);
    }

    private static Set<String> packages(Path sources) {
        return !Files.isDirectory(sources)
                ? Set.of()
                : walk(sources).map(sources::relativize)
                        .filter(file -> file.toString().endsWith(".java") && file.getNameCount() > 1)
                        .map(file -> file.getParent().toString().replace('/', '.'))
                        .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void noClassHasMoreLinesOfCodeThanOnePersonOverlooks() throws IOException {
        Map<String, Long> large = new TreeMap<>();
        for (Path source : mainSources()) {
            if (source.toString().endsWith(".java") && !LONGER.contains(source.getFileName().toString())
                    && !source.startsWith(ROOT.resolve("gds-testkit-contract"))) {
                long lines = lines(Files.readString(source));
                if (lines > MAX_LINES) {
                    large.put(ROOT.relativize(source).toString(), lines);
                }
            }
        }
        assertThat(large).isEmpty();
    }

    /** Returns the number of lines that are neither blank nor comments nor imports. */
    private static long lines(String source) {
        return source.replaceAll("(?s)/\\*.*?\\*/", "").lines().map(String::strip)
                .filter(line -> !line.isEmpty() && !line.startsWith("//") && !line.startsWith("import ")).count();
    }
}
