package io.gds4j.diagnosis;

import java.util.Optional;

/**
 * A backend on the class path or module path, and whether it can serve on this machine.
 *
 * @since 0.1
 */
public sealed interface BackendReport permits BackendReportParts {
    /** {@return its name, such as {@code compat}} */
    String name();

    /** {@return whether {@code auto} chooses it} */
    boolean chosen();

    /** {@return why it cannot serve; empty if it can} */
    Optional<String> reason();

    /** {@return what the user can do about that; empty if it can serve} */
    Optional<String> remedy();

    /** {@return why {@code auto} does not choose it although it can serve; empty if {@code auto} can choose it} */
    Optional<String> whyNotChosen();

    /**
     * Makes a value.
     *
     * @param name as {@link #name}
     * @param chosen as {@link #chosen}
     * @param reason as {@link #reason}
     * @param remedy as {@link #remedy}
     * @param whyNotChosen as {@link #whyNotChosen}
     * @return the value
     */
    static BackendReport of(String name, boolean chosen, Optional<String> reason, Optional<String> remedy,
            Optional<String> whyNotChosen) {
        return new BackendReportParts(name, chosen, reason, remedy, whyNotChosen);
    }

    /** {@return whether it can serve if a program requests it by name} */
    default boolean available() {
        return reason().isEmpty();
    }

    /** {@return a few words, such as {@code available, serves by default}} */
    default String describe() {
        if (!available()) {
            return "not available: %s; %s".formatted(reason().orElse(""), remedy().orElse(""));
        }
        return whyNotChosen().map(why -> "available, but only on request: " + why)
                .orElse(chosen() ? "available, serves by default" : "available");
    }
}
