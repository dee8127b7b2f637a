package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The tables of newer libraries, which list the differences from older ones. */
class AnswerTableTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                    "libcufile-1.19.1-answers.txt",
                    "libcufile-1.20.0-answers.txt",
                    "gds4j-1.19.1-answers.txt",
                    "gds4j-1.20.0-answers.txt"
            })
    void newerTableListsNothingButDifferences(String resource) {
        String base = AnswerTable.text(resource)
                .lines()
                .filter(line -> line.startsWith("@ "))
                .findFirst()
                .orElseThrow()
                .substring(2);
        Map<String, Map<String, AnswerTable.Row>> before = AnswerTable.read(base).groups();
        Map<String, Map<String, AnswerTable.Row>> after = AnswerTable.read(resource).groups();
        String group = "";
        for (String line : AnswerTable.text(resource).split("\n")) {
            if (line.startsWith("[")) {
                group = line.substring(1, line.length() - 1);
            } else if (!line.startsWith("#") && !line.startsWith("@")) {
                String name = line.substring(0, line.indexOf(" | "));
                assertThat(after.get(group).get(name)).as(line).isNotEqualTo(
                        before.getOrDefault(group, Map.of()).get(name));
            }
        }
        assertThat(after.keySet()).as("groups, also of functions that came later").containsAll(before.keySet());
    }

    @ParameterizedTest
    @CsvSource({"1150, 1150", "1180, 1150", "1190, 1190", "1200, 1200", "1250, 1200"})
    void versionBetweenTwoHasTheAnswersOfTheOlderOne(int met, int answers) {
        CuFileVersion version = new CuFileVersion(met);
        assertThat(AnswerTable.ofLibrary(version).groups().get("pre").get("version").answer())
                .isEqualTo(String.valueOf(answers));
        assertThat(AnswerTable.ofApi(version).groups().get("pre").get("version").answer())
                .isEqualTo(String.valueOf(answers));
    }

    @Test
    void readingANewerTableLeavesTheOlderOneAsItIs() {
        AnswerTable.ofLibrary(CuFileVersion.NEWEST_KNOWN);
        assertThat(AnswerTable.read("libcufile-1.15.1-answers.txt").groups().get("handle").get("memfd").answer())
                .isEqualTo("5027/0 use 1");
    }
}
