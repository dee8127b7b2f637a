package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * libcufile by the binding alone, without a guard, answers what it answered to C programs: the binding passes every argument
 * and result as it is. A newer library may differ; then its answers are worth a look, and the guards with them.
 */
@Tag("gpu")
class LibCuFileAnswersTest {
    /** A group that runs another one's cases under another configuration. */
    private static final Map<String, Setting> SETTINGS = Map.of(
            "ioforced", new Setting("ioforced", Map.of(), Map.of(
                    "CUFILE_FORCE_COMPAT_MODE", "true", "CUFILE_ALLOW_COMPAT_MODE", "false")),
            "malformed", new Setting("opening", Map.of(
                    "bad.json", "{ \"properties\": { \"io_batchsize\": 128, }\n"), Map.of()),
            "range", new Setting("parameters", Map.of(
                    "range.json",
                    "{ \"properties\": { \"io_batchsize\": 999999, \"per_buffer_cache_size_kb\": 7,"
                            + " \"max_direct_io_size_kb\": 100, \"nonsense_key\": 3 } }\n"),
                    Map.of()),
            "slabs", new Setting("opening", Map.of(
                    "slab.json",
                    "{ \"properties\": { \"posix_pool_slab_size_kb\": [4, 1024],"
                            + " \"posix_pool_slab_count\": [1] } }\n"),
                    Map.of()),
            "missing", new Setting("opening", Map.of("none.json", ""), Map.of()));

    private record Setting(String group, Map<String, String> configuration, Map<String, String> variables) {
    }

    private Path folder = Path.of("");

    @BeforeEach
    void makeFolder() throws IOException {
        folder = Files.createTempDirectory(GpuMachine.directory(), "answers");
    }

    @AfterEach
    void deleteFolder() throws IOException {
        GpuMachine.deleteTree(folder);
    }

    @TestFactory
    Stream<DynamicNode> answersAreThoseToAProgramInC() {
        return AnswerTable.read("libcufile-1.15.1-answers.txt")
                .groups()
                .entrySet()
                .stream()
                .map(group -> dynamicContainer(group.getKey(), rows(group.getKey(), group.getValue())));
    }

    private Stream<DynamicNode> rows(String group, Map<String, String> expected) {
        AnswersChild child = run(group);
        Stream<DynamicNode> rows = expected.entrySet()
                .stream()
                .map(row -> dynamicTest(row.getKey(), () -> check(child, row.getKey(), row.getValue())));
        DynamicNode nothingElse = dynamicTest("no other rows", () -> assertThat(child.rows().keySet())
                .as(child.output())
                .isSubsetOf(expected.keySet()));
        return group.equals("batchnull")
                ? Stream.concat(rows, Stream.of(dynamicTest("crash", () -> crashed(child))))
                : Stream.concat(rows, Stream.of(nothingElse));
    }

    private AnswersChild run(String group) {
        Setting setting = SETTINGS.getOrDefault(group, new Setting(group, Map.of(), Map.of()));
        try {
            Path own = Files.createDirectory(folder.resolve(group));
            return AnswersChild.run(
                    RawAnswers.class, setting.group(), own, setting.configuration(), setting.variables());
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void check(AnswersChild child, String name, String expected) {
        if (name.startsWith("says ")) {
            assertThat(child.output().lines().map(line -> line.replaceAll("/\\S*/", "").strip())).contains(expected);
            return;
        }
        assertThat(child.rows()).as("%s; exit status %d", child.output(), child.exitStatus()).containsKey(name);
        String answer = child.rows().get(name);
        assertThat(AnswerTable.agrees(expected, answer))
                .as("%s: expected %s, but the library answers %s", name, expected, answer)
                .isTrue();
    }

    private static void crashed(AnswersChild child) {
        assertThat(child.rows()).doesNotContainKeys("setup null", "end");
        assertThat(child.exitStatus()).isNotZero();
        assertThat(child.output()).contains("SIGSEGV").contains("libcufile");
        assertThat(List.of(child.output().split("\n"))).hasSizeGreaterThan(3);
    }
}
