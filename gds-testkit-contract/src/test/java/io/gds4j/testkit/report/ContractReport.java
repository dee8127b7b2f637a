package io.gds4j.testkit.report;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Creates a table of the contract's cases on several backends, from XML reports of JUnit's console launcher. Main
 * class:
 *
 * <pre>{@code
 * java ... ContractReport compat=reports/compat libcufile=reports/libcufile > contract.md
 * }</pre>
 *
 * <p>
 * Exits with status 5 if a case failed, or was not run on one of the backends.
 */
final class ContractReport {
    private static final String MISSING = "not run";
    /** The group whose cases are the functions that one backend lacks. */
    private static final String OWN_CASES = "Unbuilt: ";
    private static final Pattern DISPLAY_NAME = Pattern.compile("(?m)^display-name: (?:.* > )?(?:\\[\\d+\\] )?(.*)$");
    private static final Pattern ASSUMPTION = Pattern.compile("Assumption failed: (.*)");

    private final List<String> backends;
    /** Results by case, then by backend; the key of a case is its group and name. */
    private final Map<String, Map<String, String>> cases = new TreeMap<>();

    ContractReport(List<String> backends) {
        this.backends = List.copyOf(backends);
    }

    public static void main(String[] args) throws IOException, XMLStreamException {
        Map<String, Path> folders = new LinkedHashMap<>();
        for (String arg : args) {
            int equals = arg.indexOf('=');
            folders.put(arg.substring(0, equals), Path.of(arg.substring(equals + 1)));
        }
        ContractReport report = new ContractReport(List.copyOf(folders.keySet()));
        for (Map.Entry<String, Path> folder : folders.entrySet()) {
            report.add(folder.getKey(), folder.getValue());
        }
        report.lines().forEach(System.out::println);
        System.exit(report.isGreen() ? 0 : 5);
    }

    /** Adds all reports in a folder and its subfolders. */
    void add(String backend, Path folder) throws IOException, XMLStreamException {
        List<Path> reports;
        try (Stream<Path> files = Files.walk(folder)) {
            reports = files.filter(file -> file.getFileName().toString().equals("TEST-junit-jupiter.xml")).toList();
        }
        for (Path report : reports) {
            try (InputStream in = Files.newInputStream(report)) {
                XMLInputFactory factory = XMLInputFactory.newFactory();
                factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
                factory.setProperty(XMLInputFactory.IS_COALESCING, true);
                read(backend, factory.createXMLStreamReader(in));
            }
        }
    }

    private void read(String backend, XMLStreamReader xml) throws XMLStreamException {
        String name = "";
        String result = "";
        StringBuilder text = new StringBuilder();
        while (xml.hasNext()) {
            int event = xml.next();
            if (event == XMLStreamConstants.START_ELEMENT) {
                text.setLength(0);
                switch (xml.getLocalName()) {
                    case "testcase" -> {
                        String group = xml.getAttributeValue(null, "classname");
                        name = group.substring(group.lastIndexOf('$') + 1) + ": "
                                + xml.getAttributeValue(null, "name").replaceFirst("\\(.*\\)", "");
                        result = "ok";
                    }
                    case "failure", "error" -> result = "FAILED";
                    default -> {
                    }
                }
            } else if (event == XMLStreamConstants.CHARACTERS || event == XMLStreamConstants.CDATA) {
                text.append(xml.getText());
            } else if (event == XMLStreamConstants.END_ELEMENT) {
                switch (xml.getLocalName()) {
                    case "skipped" -> result = found(ASSUMPTION, text.toString(), "skipped");
                    case "system-out" -> name = named(name, found(DISPLAY_NAME, text.toString(), ""));
                    case "testcase" -> cases.computeIfAbsent(name, any -> new TreeMap<>()).put(backend, result);
                    default -> {
                    }
                }
            }
        }
    }

    /** Adds the arguments of a parameterized case to its name. */
    private static String named(String name, String displayName) {
        return name.endsWith("]") && !displayName.isEmpty() ? "%s (%s)".formatted(name, displayName) : name;
    }

    private static String found(Pattern pattern, String text, String otherwise) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1).strip() : otherwise;
    }

    private String result(String name, String backend) {
        return cases.get(name).getOrDefault(backend, name.startsWith(OWN_CASES) ? "-" : MISSING);
    }

    boolean isGreen() {
        return !cases.isEmpty() && cases.keySet()
                .stream()
                .allMatch(name -> backends.stream()
                        .noneMatch(backend -> List.of("FAILED", MISSING).contains(result(name, backend))));
    }

    /** Returns the counts, then a table row for each case. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        for (String backend : backends) {
            Map<String, Integer> counts = new TreeMap<>();
            cases.keySet().forEach(name -> counts.merge(result(name, backend), 1, Integer::sum));
            lines.add(backend + ": " + cases.size() + " cases: " + counts);
        }
        lines.add("");
        lines.add("| case | " + String.join(" | ", backends) + " |");
        lines.add("|---|" + "---|".repeat(backends.size()));
        cases.keySet().forEach(name -> lines.add("| %s | %s |".formatted(
                name.replace("|", "\\|"),
                String.join(" | ", backends.stream().map(backend -> result(name, backend)).toList()))));
        return lines;
    }
}
