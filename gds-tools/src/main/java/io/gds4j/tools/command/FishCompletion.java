package io.gds4j.tools.command;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Writes the completion script for fish: a line for each command, option and argument with known values. */
final class FishCompletion {
    private final List<String> lines = new ArrayList<>();

    private FishCompletion() {
    }

    static String script(CommandLine gds) {
        FishCompletion script = new FishCompletion();
        script.lines.add("# Completion of gds for fish: gds completion fish | source");
        script.options("__fish_use_subcommand", gds.getCommandSpec());
        gds.getSubcommands().forEach((name, command) -> script.lines.add(
                "complete -c gds -n __fish_use_subcommand -f -a %s -d %s".formatted(
                        quoted(name), quoted(firstSentence(command.getCommandSpec().usageMessage().description())))));
        gds.getSubcommands().forEach((name, command) -> {
            String condition = quoted("__fish_seen_subcommand_from " + name);
            script.options(condition, command.getCommandSpec());
            command.getCommandSpec().positionalParameters().forEach(parameter -> {
                String values = values(parameter);
                if (!values.isEmpty()) {
                    script.lines.add("complete -c gds -n %s -f -a %s".formatted(condition, quoted(values)));
                }
            });
        });
        return script.lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    private void options(String condition, CommandSpec command) {
        for (OptionSpec option : command.options()) {
            String names = Stream.of(option.names())
                    .map(name -> name.startsWith("--") ? " -l " + quoted(name.substring(2))
                            : (name.length() == 2 ? " -s " : " -o ") + quoted(name.substring(1)))
                    .collect(Collectors.joining());
            lines.add("complete -c gds -n %s%s%s -d %s".formatted(
                    condition, names, value(option), quoted(firstSentence(option.description()))));
        }
    }

    /** Returns how fish completes the value of an option: not at all, by known words, or by paths. */
    private static String value(OptionSpec option) {
        if (option.arity().max() == 0) {
            return "";
        }
        if (option.type() == Path.class) {
            return " -r -F";
        }
        String values = values(option);
        return values.isEmpty() ? " -x" : " -x -a " + quoted(values);
    }

    private static String values(ArgSpec argument) {
        if (argument.completionCandidates() != null) {
            return StreamSupport.stream(argument.completionCandidates().spliterator(), false)
                    .collect(Collectors.joining(" "));
        }
        Class<?> type = argument.auxiliaryTypes().length == 0 ? argument.type() : argument.auxiliaryTypes()[0];
        return type.isEnum()
                ? Stream.of(type.getEnumConstants()).map(Object::toString).collect(Collectors.joining(" "))
                : "";
    }

    private static String firstSentence(String... description) {
        String text = Stream.of(description).map(String::formatted).collect(Collectors.joining(" "));
        int end = text.indexOf(". ");
        return end < 0 ? text.replaceFirst("\\.$", "") : text.substring(0, end);
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
