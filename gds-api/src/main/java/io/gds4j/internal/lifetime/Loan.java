package io.gds4j.internal.lifetime;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A claim for code outside of Java, which keeps an address. While there is one, {@link Lifetime#close} refuses and names the borrower.
 * Keeps what is lent reachable. Closed once, on any thread; idempotent.
 */
public final class Loan implements AutoCloseable {
    private final @Nullable Lifetime lifetime;
    private final Object lent;
    private final Object borrower;
    private final AtomicBoolean ended = new AtomicBoolean();

    /**
     * A loan of what has no lifetime; {@link Lifetime#lend} makes others.
     *
     * @param lent stays reachable
     * @param borrower its text names who lent it, and to whom
     */
    public static Loan ofUnowned(Object lent, Object borrower) {
        return new Loan(null, lent, borrower);
    }

    Loan(@Nullable Lifetime lifetime, Object lent, Object borrower) {
        this.lifetime = lifetime;
        this.lent = lent;
        this.borrower = borrower;
    }

    /** {@return true until it is closed} */
    public boolean isOpen() {
        return !ended.get();
    }

    @Override
    public void close() {
        if (ended.compareAndSet(false, true) && lifetime != null) {
            lifetime.end(this);
        }
    }

    /** {@return who lent it, for messages} */
    @Override
    public String toString() {
        return borrower.toString();
    }
}
