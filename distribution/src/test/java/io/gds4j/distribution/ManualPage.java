package io.gds4j.distribution;

import io.gds4j.tools.terminal.ExitStatus;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * A manual page of a command, from picocli's description of the command. picocli's own generator writes AsciiDoc, which the
 * build could convert only with a Ruby program in the JVM.
 */
final class ManualPage {
    private static final String SECTION = "1";

    private final CommandSpec command;
    private final String version;
    private final StringBuilder page = new StringBuilder(4096);

    private ManualPage(CommandSpec command, String version) {
        this.command = command;
        this.version = version;
    }

    /** Returns the name of the page without its section: {@code gds} or {@code gds-load}. */
    static String name(CommandSpec command) {
        return command.qualifiedName("-");
    }

    /** Returns the text of the page, in the macros of man(7). */
    static String of(CommandSpec command, String version) {
        return new ManualPage(command, version).text();
    }

    private String text() {
        String[] description = command.usageMessage().description();
        // No date: two builds of one source are equal.
        line(".TH \"%s\" \"%s\" \"\" \"gds4j %s\" \"gds4j\"".formatted(
                escaped(name(command).toUpperCase(Locale.ROOT)), SECTION, escaped(version)));
        section("NAME");
        line(escaped(name(command)) + " \\- " + escaped(firstSentence(description)));
        section("SYNOPSIS");
        block(synopsis());
        section("DESCRIPTION");
        paragraphs(description);
        arguments();
        subcommands();
        footer();
        exitStatus();
        section("SEE ALSO");
        line(others().map(other -> "\\fB" + escaped(other) + "\\fR(" + SECTION + ")")
                .collect(Collectors.joining(", ")));
        return page.toString();
    }

    private List<String> synopsis() {
        List<String> custom = List.of(command.usageMessage().customSynopsis());
        return custom.isEmpty()
                ? command.commandLine().getHelp().synopsis(0).lines().toList()
                : custom.stream().map(String::strip).toList();
    }

    private void arguments() {
        List<PositionalParamSpec> positional = command.positionalParameters();
        if (!positional.isEmpty()) {
            section("ARGUMENTS");
            positional.forEach(parameter -> item("\\fI" + escaped(parameter.paramLabel()) + "\\fR", parameter));
        }
        section("OPTIONS");
        command.options().stream()
                .sorted(Comparator.comparing(OptionSpec::longestName))
                .forEach(option -> item(names(option), option));
    }

    private static String names(OptionSpec option) {
        String names = Arrays.stream(option.names())
                .map(name -> "\\fB" + escaped(name) + "\\fR")
                .collect(Collectors.joining(", "));
        return option.arity().max() == 0 ? names : names + "=\\fI" + escaped(option.paramLabel()) + "\\fR";
    }

    private void item(String head, ArgSpec argument) {
        line(".TP");
        line(head);
        line(escaped(joined(argument.description())));
    }

    private void subcommands() {
        if (command.subcommands().isEmpty()) {
            return;
        }
        section("COMMANDS");
        for (CommandLine sub : command.subcommands().values()) {
            line(".TP");
            line("\\fB" + escaped(name(sub.getCommandSpec())) + "\\fR(" + SECTION + ")");
            line(escaped(firstSentence(sub.getCommandSpec().usageMessage().description())));
        }
    }

    /** Writes examples and notes as they stand in the help: their lines are laid out by hand. */
    private void footer() {
        String heading = command.usageMessage().footerHeading().formatted().strip();
        if (!heading.isEmpty()) {
            section(heading.replace(":", "").toUpperCase(Locale.ROOT));
            block(Arrays.stream(command.usageMessage().footer()).map(String::formatted).toList());
        }
    }

    private void exitStatus() {
        section("EXIT STATUS");
        for (ExitStatus status : ExitStatus.values()) {
            line(".TP");
            line("\\fB" + status.code() + "\\fR");
            line(escaped(status.meaning()));
        }
    }

    /** Returns the names of the pages of gds and its other commands. */
    private Stream<String> others() {
        CommandSpec root = command.root();
        return Stream.concat(
                Stream.of(root),
                root.subcommands().values().stream().map(CommandLine::getCommandSpec))
                .filter(spec -> spec != command)
                .map(ManualPage::name);
    }

    private void section(String title) {
        line(".SH \"" + escaped(title) + "\"");
    }

    private void paragraphs(String... lines) {
        for (String text : lines) {
            line(text.isEmpty() ? ".PP" : escaped(text.formatted()));
        }
    }

    private void block(List<String> lines) {
        line(".nf");
        lines.forEach(text -> line(escaped(text)));
        line(".fi");
    }

    private void line(String text) {
        page.append(text).append('\n');
    }

    private static String joined(String... lines) {
        return Arrays.stream(lines).map(String::formatted).collect(Collectors.joining(" "));
    }

    /** Returns the first sentence, without its full stop: the part that {@code apropos} shows. */
    private static String firstSentence(String... description) {
        String text = description.length == 0 ? "" : description[0].formatted();
        int end = text.indexOf(". ");
        String sentence = end < 0 ? text : text.substring(0, end);
        return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
    }

    /** Escapes what troff reads as a request, an escape or a hyphen that may break. */
    private static String escaped(String text) {
        String plain = text.replace("\\", "\\e").replace("-", "\\-");
        return plain.startsWith(".") || plain.startsWith("'") ? "\\&" + plain : plain;
    }
}
