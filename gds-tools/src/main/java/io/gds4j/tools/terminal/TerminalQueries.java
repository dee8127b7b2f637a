package io.gds4j.tools.terminal;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import java.io.Console;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Queries the terminal. A class of its own, so that libc is bound only when needed. */
final class TerminalQueries {
    private static final Pattern ROWS_AND_COLUMNS = Pattern.compile("(\\d{1,5}) (\\d{1,5})\\s*");
    private static final long TIMEOUT_MILLIS = 500;

    /** Size of a terminal; 0 where it does not tell. */
    record Size(int rows, int columns) {
        static final Size UNKNOWN = new Size(0, 0);
    }

    private TerminalQueries() {
    }

    static boolean isTerminal(int fd) {
        try {
            return FfmPosix.instance().isatty(fd);
        } catch (CuFileException e) {
            // without libc Java tells only of standard input and output together
            Console console = System.console();
            return console != null && console.isTerminal();
        }
    }

    /** Size of the controlling terminal, from {@code stty}, because shells do not export COLUMNS and LINES. */
    static Size size() {
        Matcher size = ROWS_AND_COLUMNS.matcher(stty("size"));
        return size.matches()
                ? new Size(Integer.parseInt(size.group(1)), Integer.parseInt(size.group(2)))
                : Size.UNKNOWN;
    }

    /** Returns what {@code stty} prints for the controlling terminal; nothing if there is none, or no answer. */
    static String stty(String... arguments) {
        List<String> command = new ArrayList<>(List.of("stty"));
        command.addAll(List.of(arguments));
        try {
            Process stty = new ProcessBuilder(command)
                    .redirectInput(new File("/dev/tty"))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try {
                if (!stty.waitFor(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)) {
                    return "";
                }
                return new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            } finally {
                stty.destroyForcibly();
            }
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }
}
