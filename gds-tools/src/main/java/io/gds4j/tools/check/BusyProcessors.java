package io.gds4j.tools.check;

import io.gds4j.diagnosis.Advice;
import io.gds4j.engine.machine.SystemFiles;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Tells when other work keeps the processors busy: every speed that is measured meanwhile is too low. */
public final class BusyProcessors {
    private static final String PRESSURE = "/proc/pressure/cpu";
    private static final Pattern LAST_MINUTE = Pattern.compile("some .*\\bavg60=(\\d+\\.\\d+)\\b.*");
    /** Percent of the last minute in which a thread waited for a processor. A load of all threads alone stays below. */
    private static final double BUSY = 40;

    private BusyProcessors() {
    }

    /** Returns what slows everything down; empty if nothing does, or if the kernel does not tell. */
    public static Optional<Advice> advice() {
        return advice(SystemFiles.ofMachine());
    }

    static Optional<Advice> advice(SystemFiles files) {
        Matcher minute = LAST_MINUTE.matcher(files.firstLine(PRESSURE).orElse(""));
        double percent = minute.matches() ? Double.parseDouble(minute.group(1)) : 0;
        return percent < BUSY ? Optional.empty()
                : Optional.of(new Advice(
                        String.format(Locale.ROOT,
                                "the processors are busy: in %.0f %% of the last minute threads waited for one",
                                percent),
                        "measure again when other programs have ended, or give this one more processors"));
    }
}
