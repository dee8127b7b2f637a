package io.gds4j.tools.stats;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** What the keys of a user have chosen: the order of the JVMs, and those whose program has a text in its name. Used by one thread. */
final class TopView {
    private static final int ESCAPE = 27;
    private static final int BACKSPACE = 8;
    private static final int DELETE = 127;

    /** Orders of the JVMs, in the sequence in which the key goes through them. */
    private enum Order {
        PROCESS(Comparator.comparingLong(JvmRates::pid)),
        SPEED(Comparator.comparingDouble(JvmRates::bytesPerSecond).reversed()),
        NAME(Comparator.comparing(JvmRates::program));

        private final Comparator<JvmRates> comparator;

        Order(Comparator<JvmRates> comparator) {
            this.comparator = comparator;
        }
    }

    private Order order = Order.PROCESS;
    private String filter = "";
    private boolean types;
    private boolean helps;

    /** Takes a key. Returns false for the one that ends the command. */
    boolean take(int key) {
        if (types) {
            type(key);
            return true;
        }
        switch (key) {
            case '?' -> helps = !helps;
            case 's' -> order = Order.values()[(order.ordinal() + 1) % Order.values().length];
            case '/' -> {
                types = true;
                filter = "";
            }
            default -> {
                // no other key has a meaning
            }
        }
        return key != 'q';
    }

    private void type(int key) {
        switch (key) {
            case '\n', '\r' -> types = false;
            case ESCAPE -> {
                types = false;
                filter = "";
            }
            case BACKSPACE, DELETE -> filter = filter.substring(0, Math.max(0, filter.length() - 1));
            default -> filter += (char) key;
        }
    }

    /** Returns the chosen JVMs in their order. */
    List<JvmRates> of(List<JvmRates> jvms) {
        String wanted = filter.toLowerCase(Locale.ROOT);
        return jvms.stream().filter(jvm -> jvm.program().toLowerCase(Locale.ROOT).contains(wanted))
                .sorted(order.comparator).toList();
    }

    /** Returns what the screen tells of the choice. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (helps) {
            lines.add(
                    "q ends, s sorts by process, speed or name, / filters by name (Enter ends it, Esc shows all), ? hides this");
        }
        if (order != Order.PROCESS) {
            lines.add("by " + order.name().toLowerCase(Locale.ROOT));
        }
        if (types || !filter.isEmpty()) {
            lines.add("/" + filter + (types ? "_" : ""));
        }
        return lines;
    }
}
