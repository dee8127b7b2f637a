package io.gds4j.distribution;

import static io.gds4j.distribution.DistributionFiles.gds;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DistributionFilesTest {
    private static final Pattern OPTION = Pattern.compile("--[a-z-]+");

    @TempDir
    private static Path share;

    @BeforeAll
    static void write() throws IOException {
        DistributionFiles.main(new String[]{share.toString(), "0.1"});
    }

    @Test
    void everyCommandHasAPageWithAllItsOptions() throws IOException {
        String commands = page("gds");
        for (Path file : pages()) {
            String name = file.getFileName().toString().replace(".1", "");
            assertThat(commands).contains(name.replace("-", "\\-"));
            String[] line = (name.equals("gds") ? "--help" : name.substring("gds-".length()) + " --help").split(" ");
            String help = gds(line);
            assertThat(OPTION.matcher(help).results().map(found -> found.group().replace("-", "\\-")).toList())
                    .as(name)
                    .isNotEmpty()
                    .allSatisfy(option -> assertThat(Files.readString(file)).contains(option));
        }
        assertThat(pages()).hasSize(16);
    }

    @Test
    void notesOfHelpFitTheirLines() throws IOException {
        for (Path file : pages()) {
            String page = Files.readString(file);
            String notes = page.substring(page.lastIndexOf(".nf"), page.lastIndexOf(".fi"));
            assertThat(notes.replace("\\-", "-").replace("\\e", "\\").lines()).as(file.toString())
                    .allMatch(line -> line.length() < 80);
        }
    }

    @Test
    void linesOfAPageAreMacrosOrPlainText() throws IOException {
        for (Path file : pages()) {
            assertThat(Files.readAllLines(file)).as(file.toString())
                    .filteredOn(line -> line.startsWith(".") || line.startsWith("'"))
                    .allMatch(line -> line.matches("\\.(TH|SH) \".*\"|\\.(TP|PP|nf|fi)"));
        }
    }

    @Test
    void backslashesOfExamplesStay() throws IOException {
        assertThat(page("gds-load")).contains("\\-\\-tensor 'layers\\e.0\\e.'");
    }

    @Test
    void bashCompletionIsThatOfTheCommand() throws IOException {
        assertThat(share.resolve("bash-completion/completions/gds")).hasContent(gds("completion", "bash"));
        assertThat(share.resolve("zsh/site-functions/_gds")).content()
                .startsWith("#compdef gds\n")
                .contains(gds("completion", "zsh"));
    }

    private static String page(String name) throws IOException {
        return Files.readString(share.resolve("man/man1").resolve(name + ".1"));
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> files = Files.list(share.resolve("man/man1"))) {
            return files.sorted().toList();
        }
    }
}
