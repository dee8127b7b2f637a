package io.gds4j.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The Javadoc of each key and docs/configuration.md say what the keys themselves say. {@code -Dgds4j.docs.write=true} writes both
 * anew.
 */
class ConfigurationDocsTest {
    private static final Path SOURCE = Path.of("src/main/java/io/gds4j/config/CuFileKeys.java");
    private static final Path PAGE = Path.of("../docs/configuration.md");
    private static final boolean WRITE = Boolean.getBoolean("gds4j.docs.write");
    private static final String REMEDY =
            "regenerate: mvn -pl gds-api -am test -Dtest=ConfigurationDocsTest -Dsurefire.failIfNoSpecifiedTests=false"
                    + " -Dgds4j.docs.write=true";
    private static final int MAX_LINE = 120;
    private static final String TABLE = "<!-- keys: generated, see ConfigurationDocsTest -->";
    private static final String END = "<!-- end of keys -->";

    private static Map<ConfigKey<?>, String> constants() {
        Map<ConfigKey<?>, String> names = new LinkedHashMap<>();
        for (Field field : CuFileKeys.class.getFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == ConfigKey.class) {
                try {
                    names.put((ConfigKey<?>) field.get(null), field.getName());
                } catch (IllegalAccessException e) {
                    throw new AssertionError(e);
                }
            }
        }
        return names;
    }

    @Test
    void javadocOfEachKeyTellsMeaningUnitDefaultAndRange() throws IOException {
        String source = Files.readString(SOURCE);
        String expected = source;
        for (Map.Entry<ConfigKey<?>, String> key : constants().entrySet()) {
            Matcher declaration = Pattern.compile(
                    "(?s)    /\\*\\*(?:(?!\\*/).)*\\*/\n(?=    public static final ConfigKey<[^=;]*? "
                            + key.getValue() + "\\s*=)")
                    .matcher(expected);
            assertThat(declaration.find()).as("Javadoc of %s", key.getValue()).isTrue();
            expected = expected.substring(0, declaration.start()) + javadoc(key.getKey())
                    + expected.substring(declaration.end());
        }
        if (WRITE) {
            Files.writeString(SOURCE, expected);
        } else {
            assertThat(source).as(REMEDY).isEqualTo(expected);
        }
    }

    @Test
    void pageListsEachKey() throws IOException {
        String page = Files.readString(PAGE);
        int start = page.indexOf(TABLE);
        int end = page.indexOf(END);
        assertThat(start).as("marker in %s", PAGE).isBetween(0, end);
        String expected = page.substring(0, start) + TABLE + "\n\n" + tables() + page.substring(end);
        if (WRITE) {
            Files.writeString(PAGE, expected);
        } else {
            assertThat(page).as(REMEDY).isEqualTo(expected);
        }
    }

    private static String javadoc(ConfigKey<?> key) {
        StringBuilder text = new StringBuilder("{@code %s}: %s.\n".formatted(key.name(), html(key.description())));
        text.append("Allowed: %s. Default: {@code %s}%s.".formatted(
                html(key.allowed()), DefaultConfigFile.json(key.defaultValue()),
                key.unit().isEmpty() ? "" : ". Unit: " + key.unit()));
        if (!key.environmentVariables().isEmpty()) {
            text.append(" Environment: {@code ").append(String.join("}, {@code ", key.environmentVariables()))
                    .append("}.");
        }
        if (!key.since().equals("1.15")) {
            text.append(" Since cuFile ").append(key.since()).append('.');
        }
        text.append(" Used by ").append(backends(key)).append('.');
        StringBuilder javadoc = new StringBuilder("    /**\n");
        for (String sentence : text.toString().split("\n")) {
            StringBuilder line = new StringBuilder("     *");
            for (String word : sentence.split(" ")) {
                if (line.length() + 1 + word.length() > MAX_LINE) {
                    javadoc.append(line).append('\n');
                    line = new StringBuilder("     *");
                }
                line.append(' ').append(word);
            }
            javadoc.append(line).append('\n');
        }
        return javadoc.append("     */\n").toString();
    }

    private static String html(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    private static String backends(ConfigKey<?> key) {
        if (!key.usedByEngine()) {
            return "libcufile";
        }
        return key.name().startsWith("GDS4J_") ? "gds4j's engine" : "gds4j's engine and libcufile";
    }

    private static String tables() {
        Map<String, List<String>> sections = new LinkedHashMap<>();
        constants().keySet().forEach(key -> {
            String section = key.inFile() ? key.name().substring(0, key.name().indexOf('.')) : "environment only";
            sections.computeIfAbsent(section, name -> new ArrayList<>()).add(row(key));
        });
        StringBuilder text = new StringBuilder();
        sections.forEach((section, rows) -> {
            text.append("### ").append(section).append("\n\n");
            text.append("| key, environment | default | allowed | meaning |\n");
            text.append("| --- | --- | --- | --- |\n");
            rows.forEach(text::append);
            text.append('\n');
        });
        return text.toString();
    }

    private static String row(ConfigKey<?> key) {
        String variables =
                String.join(", ", key.environmentVariables().stream().map(ConfigurationDocsTest::code).toList());
        String meaning = key.since().equals("1.15")
                ? key.description()
                : key.description() + " (" + key.since() + ")";
        String names = key.inFile()
                ? code(key.name()) + (variables.isEmpty() ? "" : ", " + variables)
                : variables;
        return "| %s | %s | %s | %s%s |\n".formatted(
                names,
                code(DefaultConfigFile.json(key.defaultValue())) + (key.unit().isEmpty() ? "" : " " + key.unit()),
                cell(key.allowed().replaceFirst("^an integer, ", "").replaceFirst("^true or false$", "boolean")),
                cell(meaning), key.usedByEngine() ? "" : " †");
    }

    private static String code(String text) {
        return "`" + text + "`";
    }

    private static String cell(String text) {
        return text.replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*");
    }
}
