package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cufile.AnswerTable;
import io.gds4j.ffi.cufile.AnswersChild;
import io.gds4j.ffi.cufile.AnswersSetting;
import io.gds4j.ffi.cufile.CuFileVersion;
import io.gds4j.ffi.cufile.GpuMachine;
import io.gds4j.ffi.cufile.RawAnswers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * libcufile answers the binding, without preconditions, as it answers C programs: the binding passes every argument and result
 * unchanged. If a newer library differs, check its answers and the preconditions. The public API over the library answers as
 * documented.
 */
@Tag("gpu")
class LibCuFileAnswersTest {
    private static final String DIED = "a thread of libcufile died after cuFileStatsReset";

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
    Stream<DynamicNode> libraryAnswersTheBindingAsItAnswersC() {
        return groups(AnswerTable.ofLibrary(version()), RawAnswers.class);
    }

    @TestFactory
    Stream<DynamicNode> publicApiAnswersAsItIsDocumented() {
        return groups(AnswerTable.ofApi(version()), ApiAnswers.class);
    }

    /** The version of this machine's library, which is loaded but not opened. */
    private static CuFileVersion version() {
        return new CuFileVersion(
                new LibCuFileBackendProvider().create(CuFileConfig.defaults()).controls().getVersion());
    }

    private Stream<DynamicNode> groups(AnswerTable table, Class<?> main) {
        return table.groups()
                .entrySet()
                .stream()
                .map(group -> dynamicContainer(group.getKey(), rows(main, group.getKey(), group.getValue())));
    }

    private Stream<DynamicNode> rows(Class<?> main, String group, Map<String, AnswerTable.Row> expected) {
        AnswersChild child = run(main, group);
        Stream<DynamicNode> rows = expected.entrySet()
                .stream()
                .filter(row -> !row.getValue().answer().equals("-"))
                .map(row -> dynamicTest(row.getKey(), () -> {
                    assumeFalse(diedAfterReset(group, child) && !child.rows().containsKey(row.getKey()), DIED);
                    child.check(row.getKey(), row.getValue());
                }));
        boolean crashes = group.equals("batchnull") && main == RawAnswers.class && !expected.containsKey("end");
        DynamicNode end = crashes
                ? dynamicTest("crash", () -> crashed(child))
                : dynamicTest("no other rows", () -> onlyThose(group, child, expected));
        return Stream.concat(rows, Stream.of(end));
    }

    private AnswersChild run(Class<?> main, String group) {
        try {
            Path own = Files.createDirectory(folder.resolve(group));
            return AnswersChild.run(main, AnswersSetting.of(group), own);
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** With two H200s a thread of libcufile was seen to die by SIGSEGV after a reset of the statistics; with two H100s none did. */
    private static boolean diedAfterReset(String group, AnswersChild child) {
        return group.equals("stats")
                && child.exitStatus() != 0
                && child.output().contains("SIGSEGV")
                && child.output().contains("libcufile");
    }

    private static void onlyThose(String group, AnswersChild child, Map<String, AnswerTable.Row> expected) {
        assertThat(child.rows().keySet()).as(child.output()).isSubsetOf(expected.keySet());
        assumeFalse(diedAfterReset(group, child), DIED);
        assertThat(child.exitStatus()).as(child.output()).isZero();
    }

    private static void crashed(AnswersChild child) {
        assertThat(child.rows()).doesNotContainKeys("setup null", "end");
        assertThat(child.exitStatus()).isNotZero();
        assertThat(child.output()).contains("SIGSEGV").contains("libcufile");
    }
}
