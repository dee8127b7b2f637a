package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every Java snippet of the documents is compiled: a sample or its test contains it word for word. */
class DocumentedSnippetsTest {
    private static final Pattern SNIPPET = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Path ROOT = Path.of("..");
    /** PackagingIT of gds-tools compiles the module of this guide. */
    private static final Set<String> RUN_ELSEWHERE = Set.of("packaging.md");

    @TestFactory
    List<DynamicTest> everySnippetIsPartOfASample() throws IOException {
        String samples = words(read(ROOT.resolve("samples/src"), ".java")
                + read(ROOT.resolve("examples/cudf/src"), ".java")
                + Files.readString(ROOT.resolve("examples/Load.java")));
        List<DynamicTest> tests = new ArrayList<>();
        List<Path> documents = new ArrayList<>(files(ROOT.resolve("docs"), ".md"));
        documents.removeIf(document -> RUN_ELSEWHERE.contains(document.getFileName().toString()));
        documents.add(ROOT.resolve("README.md"));
        for (Path document : documents) {
            Matcher matcher = SNIPPET.matcher(Files.readString(document));
            for (int number = 1; matcher.find(); number++) {
                String snippet = words(matcher.group(1));
                tests.add(DynamicTest.dynamicTest(
                        document.getFileName() + " snippet " + number, () -> assertThat(samples).contains(snippet)));
            }
        }
        assertThat(tests).as("snippets").isNotEmpty();
        return tests;
    }

    private static String read(Path folder, String suffix) throws IOException {
        StringBuilder all = new StringBuilder();
        for (Path file : files(folder, suffix)) {
            all.append(Files.readString(file)).append('\n');
        }
        return all.toString();
    }

    private static List<Path> files(Path folder, String suffix) throws IOException {
        try (Stream<Path> walk = Files.walk(folder)) {
            return walk.filter(path -> path.toString().endsWith(suffix)).toList();
        }
    }

    /** Returns the code without differences of indentation and line breaks. */
    private static String words(String code) {
        return code.replaceAll("\\s+", " ").trim();
    }
}
