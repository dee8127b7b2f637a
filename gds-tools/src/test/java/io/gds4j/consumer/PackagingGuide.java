package io.gds4j.consumer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The code blocks of docs/packaging.md and of the page on Spring Boot. */
record PackagingGuide(String text) {
    private static final Path DOCS = Path.of("").toAbsolutePath().resolveSibling("docs");
    private static final List<String> PAGES = List.of("packaging.md", "spring-boot.md");

    static PackagingGuide read() throws IOException {
        StringBuilder text = new StringBuilder();
        for (String page : PAGES) {
            text.append(Files.readString(DOCS.resolve(page))).append('\n');
        }
        return new PackagingGuide(text.toString());
    }

    /** Returns the only Java source that begins with this text. */
    String java(String start) {
        List<String> found = blocks(text, "java").stream().filter(block -> block.startsWith(start)).toList();
        if (found.size() != 1) {
            throw new AssertionError("%d sources in %s begin with '%s'".formatted(found.size(), PAGES, start));
        }
        return found.getFirst();
    }

    /** Returns the command lines of a section. */
    String commands(String heading) {
        int start = text.indexOf("\n## " + heading + "\n");
        if (start < 0) {
            throw new AssertionError("%s have no section '%s'".formatted(PAGES, heading));
        }
        int end = text.indexOf("\n## ", start + 1);
        return blocks(end < 0 ? text.substring(start) : text.substring(start, end), "sh").getFirst();
    }

    /** Returns all blocks of a language, in order. */
    List<String> blocks(String language) {
        return blocks(text, language);
    }

    private static List<String> blocks(String text, String language) {
        return Pattern.compile("^```" + language + "\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(text)
                .results()
                .map(match -> match.group(1))
                .toList();
    }
}
