package io.gds4j.diagnosis;

import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A backend on the class path or module path, and whether it can serve on this machine.
 *
 * @since 0.1
 */
public final class BackendReport {
    private final String name;
    private final boolean chosen;
    private final Optional<String> reason;
    private final Optional<String> remedy;
    private final Optional<String> whyNotChosen;

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
        this.name = name;
        this.chosen = chosen;
        this.reason = reason;
        this.remedy = remedy;
        this.whyNotChosen = whyNotChosen;
    }

    /** {@return its name, such as {@code compat}} */
    public String name() {
        return name;
    }

    /** {@return whether {@code auto} chooses it} */
    public boolean chosen() {
        return chosen;
    }

    /** {@return why it cannot serve; empty if it can} */
    public Optional<String> reason() {
        return reason;
    }

    /** {@return what the user can do about that; empty if it can serve} */
    public Optional<String> remedy() {
        return remedy;
    }

    /** {@return why {@code auto} does not choose it although it can serve; empty if {@code auto} can choose it} */
    public Optional<String> whyNotChosen() {
        return whyNotChosen;
    }

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

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof BackendReport that && chosen == that.chosen && name.equals(that.name)
                && reason.equals(that.reason) && remedy.equals(that.remedy) && whyNotChosen.equals(that.whyNotChosen);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, chosen, reason, remedy, whyNotChosen);
    }

    @Override
    public String toString() {
        return "BackendReport[name=" + name + ", chosen=" + chosen + ", reason=" + reason + ", remedy=" + remedy
                + ", whyNotChosen=" + whyNotChosen + ']';
    }
}
