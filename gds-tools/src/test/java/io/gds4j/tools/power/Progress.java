package io.gds4j.tools.power;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How far operations had come when the power was cut, by their marks. */
final class Progress {
    private record Phase(int round, String name) {
    }

    private final Map<String, Phase> reached = new HashMap<>();
    private String current = "";
    private String before = "";

    /** Notes a mark, {@code operation.round.phase}; false if it is something else. */
    boolean note(String mark) {
        String[] parts = mark.strip().split("\\.");
        boolean isMark = parts.length == 3 && parts[1].matches("\\d+");
        if (isMark) {
            reached.put(parts[0], new Phase(Integer.parseInt(parts[1]), parts[2]));
            if (!parts[0].equals(current)) {
                before = current;
                current = parts[0];
            }
        }
        return isMark;
    }

    /** Returns the name of the operation that was running or had just returned; empty before the first. */
    String current() {
        return current;
    }

    /** Checks what this cut may have broken: the current operation and the one before it, or all. */
    void check(List<Operation> operations, Path root, boolean all) throws Exception {
        for (Operation operation : operations) {
            Phase phase = reached.get(operation.name());
            if (phase != null && (all || List.of(current, before).contains(operation.name()))) {
                operation.check(root, phase.round, phase.name);
            }
        }
    }

    @Override
    public String toString() {
        Phase phase = reached.get(current);
        return phase == null ? "nothing" : "%s.%s.%s".formatted(current, phase.round, phase.name);
    }
}
