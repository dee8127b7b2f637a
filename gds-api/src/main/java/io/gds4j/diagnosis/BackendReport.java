package io.gds4j.diagnosis;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A backend on the class path or module path, and whether it can serve on this machine.
 *
 * @since 0.1
 */
public final class BackendReport {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param name as {@link #name}
     * @param chosen as {@link #chosen}
     * @param reason as {@link #reason}
     * @param remedy as {@link #remedy}
     * @param whyNotChosen as {@link #whyNotChosen}
     */
    public BackendReport(
            String name,
            boolean chosen,
            Optional<String> reason,
            Optional<String> remedy,
            Optional<String> whyNotChosen) {
        parts = new Parts(name, chosen, reason, remedy, whyNotChosen);
    }

    /** {@return its name, such as {@code compat}} */
    public String name() {
        return parts.name;
    }

    /** {@return whether {@code auto} chooses it} */
    public boolean chosen() {
        return parts.chosen;
    }

    /** {@return why it cannot serve; empty if it can} */
    public Optional<String> reason() {
        return parts.reason;
    }

    /** {@return what the user can do about that; empty if it can serve} */
    public Optional<String> remedy() {
        return parts.remedy;
    }

    /** {@return why {@code auto} does not choose it although it can serve; empty if {@code auto} can choose it} */
    public Optional<String> whyNotChosen() {
        return parts.whyNotChosen;
    }

    /** {@return whether it can serve if a program requests it by name} */
    public boolean available() {
        return parts.reason.isEmpty();
    }

    /** {@return a few words, such as {@code available, serves by default}} */
    public String describe() {
        if (!available()) {
            return "not available: %s; %s".formatted(parts.reason.orElse(""), parts.remedy.orElse(""));
        }
        return parts.whyNotChosen.map(why -> "available, but only on request: " + why)
                .orElse(parts.chosen ? "available, serves by default" : "available");
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof BackendReport that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "BackendReport");
    }

    private record Parts(String name, boolean chosen, Optional<String> reason, Optional<String> remedy,
            Optional<String> whyNotChosen) {}
}
