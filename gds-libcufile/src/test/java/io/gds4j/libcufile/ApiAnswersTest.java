package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cufile.AnswerTable;
import io.gds4j.ffi.cufile.AnswersChild;
import io.gds4j.ffi.cufile.AnswersSetting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Runs the public API in all cases of libcufile's table, over the double of the library. */
@Tag("slow")
class ApiAnswersTest {
    private static final Pattern STATUS = Pattern.compile("(?:minmax |err )?(-?\\d+)(?:/0 use -?\\d+| .*)?");
    private static final Pattern EVENT = Pattern.compile("err 0 nr (\\d) st [0-9a-f]+ ret (-?\\d+)");
    private static final Pattern FAILED = Pattern.compile("-1 errno (\\w+)");

    /** Cases that need a real GPU and library: memory at multiples of pages, memory for 3 GiB, an answer to memfd_create. */
    private static final Set<String> OF_THE_REAL_LIBRARY =
            Set.of("stats: counts", "io: read 3 GiB sparse", "handle: memfd");

    private final Map<String, Map<String, AnswerTable.Row>> library =
            AnswerTable.read("libcufile-1.15.1-answers.txt").groups();
    private final Map<String, Map<String, AnswerTable.Row>> documented = AnswerTable.read("gds4j-answers.txt").groups();

    @TempDir
    private Path folder;

    @TestFactory
    Stream<DynamicNode> publicApiAnswersAsItIsDocumented() throws IOException, InterruptedException {
        AnswersChild child = AnswersChild.run(ApiAnswers.class, AnswersSetting.of("all"), folder, "fake");
        assertThat(child.exitStatus()).as(child.output()).isZero();
        return documented.entrySet()
                .stream()
                .map(group -> dynamicContainer(
                        group.getKey(),
                        group.getValue()
                                .entrySet()
                                .stream()
                                .filter(row -> !row.getValue().answer().equals("-"))
                                .filter(row -> !OF_THE_REAL_LIBRARY.contains(group.getKey() + ": " + row.getKey()))
                                .map(row -> dynamicTest(
                                        row.getKey(),
                                        () -> child.check(group.getKey() + ": " + row.getKey(), row.getValue())))));
    }

    @TestFactory
    Stream<DynamicNode> everyDifferenceFromTheLibraryHasAReasonAndNothingElseHas() {
        return library.entrySet()
                .stream()
                .map(group -> dynamicContainer(
                        group.getKey(),
                        group.getValue()
                                .entrySet()
                                .stream()
                                .filter(row -> !row.getKey().equals("end") && !row.getKey().startsWith("says "))
                                .map(row -> dynamicTest(
                                        row.getKey(),
                                        () -> checkReason(
                                                row.getValue().answer(),
                                                documented.get(group.getKey()).get(row.getKey()))))));
    }

    private static void checkReason(String library, AnswerTable.Row documented) {
        assertThat(documented).as("a documented row").isNotNull();
        String answer = documented.answer();
        String meant = meaning(library);
        boolean same = answer.equals(meant) || answer.startsWith(meant + " E");
        assertThat(documented.why().isEmpty()).as("%s means %s, documented is %s", library, meant, documented)
                .isEqualTo(same);
    }

    /** The Java form of an answer of the library. */
    private static String meaning(String library) {
        Matcher event = EVENT.matcher(library);
        if (event.matches()) {
            return event.group(1).equals("0") ? "[]" : "[" + event.group(2) + "]";
        }
        Matcher failed = FAILED.matcher(library);
        if (failed.matches()) {
            return failed.group(1).startsWith("E") ? "IO_ERROR " + failed.group(1) : error(failed.group(1));
        }
        Matcher status = STATUS.matcher(library);
        if (status.matches() && (library.contains("/0 use") || !error(status.group(1)).isEmpty())) {
            return status.group(1).equals("0") && library.contains("/0 use") ? "ok" : error(status.group(1));
        }
        return library.equals("survived") ? "ok" : library;
    }

    private static String error(String code) {
        return code.matches("5\\d{3}")
                ? CuFileError.of(Integer.parseInt(code)).map(CuFileError::name).orElse("")
                : "";
    }

    @Test
    void tableExplainsEveryReason() throws IOException {
        Set<String> explained = new TreeSet<>();
        String text = AnswerTable.text("gds4j-answers.txt");
        Pattern.compile("^#   (\\w+) {2,}\\S.*$", Pattern.MULTILINE)
                .matcher(text)
                .results()
                .forEach(found -> explained.add(found.group(1)));
        Set<String> used = new TreeSet<>();
        documented.values().forEach(group -> group.values().forEach(row -> used.add(row.why())));
        used.remove("");
        assertThat(used).isEqualTo(explained);
    }
}
