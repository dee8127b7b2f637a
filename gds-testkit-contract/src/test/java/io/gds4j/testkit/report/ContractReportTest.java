package io.gds4j.testkit.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.xml.stream.XMLStreamException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContractReportTest {
    private static final String GROUP = "io.gds4j.testkit.contract.BackendContractSuite$Read";

    @TempDir
    private Path folder;

    private final ContractReport report = new ContractReport(List.of("compat", "libcufile"));

    private Path write(String backend, String group, String... cases) throws IOException {
        Path reports = Files.createDirectories(folder.resolve(backend).resolve(group));
        Files.writeString(
                reports.resolve("TEST-junit-jupiter.xml"),
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"JUnit Jupiter\">\n<properties/>\n"
                        + String.join("\n", cases) + "\n</testsuite>\n");
        return folder.resolve(backend);
    }

    private static String testcase(String name, String displayName, String inside) {
        return "<testcase name=\"%s\" classname=\"%s\" time=\"0.1\">%s<system-out><![CDATA[\nunique-id: [x]\ndisplay-name: %s\n]]></system-out></testcase>"
                .formatted(name, GROUP, inside, displayName);
    }

    private List<String> rows(String name) {
        return report.lines().stream().filter(line -> line.startsWith("| " + name)).toList();
    }

    @Test
    void casesOfBothBackendsShareARow() throws IOException, XMLStreamException {
        String whole = testcase("readsAll()", "readsAll()", "");
        String row = testcase("readsSome(Way)[2]", "JUnit Jupiter > Suite > Read > readsSome(Way) > [2] HOST", "");
        report.add("compat", write("compat", "Read", whole, row));
        report.add("libcufile", write("libcufile", "Read", whole, row));

        assertThat(rows("Read: ")).containsExactly(
                "| Read: readsAll | ok | ok |", "| Read: readsSome[2] (HOST) | ok | ok |");
        assertThat(report.isGreen()).isTrue();
        assertThat(report.lines().getFirst()).isEqualTo("compat: 2 cases: {ok=2}");
    }

    @Test
    void differencesAreNamedAndFailuresAreNotGreen() throws IOException, XMLStreamException {
        String skipped = "<skipped><![CDATA[org.opentest4j.TestAbortedException: Assumption failed: MEMFD_REFUSED\n"
                + "\tat somewhere]]></skipped>";
        report.add("compat", write("compat", "Read", testcase("memfd()", "memfd()", "")));
        report.add("libcufile", write("libcufile", "Read", testcase("memfd()", "memfd()", skipped)));
        assertThat(rows("Read: memfd")).containsExactly("| Read: memfd | ok | MEMFD_REFUSED |");
        assertThat(report.isGreen()).isTrue();

        String failed = "<failure message=\"no\" type=\"E\"><![CDATA[E: no]]></failure>";
        report.add("compat", write("compat", "Write", testcase("writes()", "writes()", "")));
        report.add("libcufile", write("libcufile", "Write", testcase("writes()", "writes()", failed)));
        assertThat(rows("Read: writes")).containsExactly("| Read: writes | ok | FAILED |");
        assertThat(report.isGreen()).isFalse();
    }

    @Test
    void caseMissingOnOneBackendIsNotGreen() throws IOException, XMLStreamException {
        report.add("compat", write("compat", "Read", testcase("readsAll()", "readsAll()", "")));
        assertThat(rows("Read: readsAll")).containsExactly("| Read: readsAll | ok | not run |");
        assertThat(report.isGreen()).isFalse();
    }

    /** Which functions a backend lacks differs. */
    @Test
    void functionThatOnlyOneBackendLacksIsNoMissingCase() throws IOException, XMLStreamException {
        String lacking = testcase("unbuiltFunctionIsReported()[1]", "cuFileDriverGetP2PFlags", "")
                .replace("$Read", "$Unbuilt");
        report.add("compat", write("compat", "Unbuilt"));
        report.add("libcufile", write("libcufile", "Unbuilt", lacking));
        assertThat(rows("Unbuilt: ")).singleElement().asString().endsWith("| - | ok |");
        assertThat(report.isGreen()).isTrue();
    }
}
