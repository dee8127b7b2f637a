package io.gds4j.diagnosis;

import java.util.Optional;

/**
 * A backend on the class path or module path, and whether it can serve on this machine.
 *
 * @param name its name, such as {@code compat}
 * @param chosen whether {@code auto} chooses it
 * @param reason why it cannot serve; empty if it can
 * @param remedy what the user can do about that; empty if it can serve
 * @param whyNotChosen why {@code auto} does not choose it although it can serve; empty if {@code auto} can choose it
 * @since 0.1
 */
public record BackendReport(
        String name,
        boolean chosen,
        Optional<String> reason,
        Optional<String> remedy,
        Optional<String> whyNotChosen) {
    /** {@return whether it can serve if a program requests it by name} */
    public boolean available() {
        return reason.isEmpty();
    }

    /** {@return a few words, such as {@code available, serves by default}} */
    public String describe() {
        if (!available()) {
            return "not available: %s; %s".formatted(reason.orElse(""), remedy.orElse(""));
        }
        return whyNotChosen.map(why -> "available, but only on request: " + why)
                .orElse(chosen ? "available, serves by default" : "available");
    }
}
