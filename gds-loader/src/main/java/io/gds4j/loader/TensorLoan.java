package io.gds4j.loader;

import io.gds4j.internal.lifetime.CallSite;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Loan;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.List;

/**
 * Tensors in use by native code, which keeps their addresses. Until the loan is closed, closing the tensors throws EBUSY and names the
 * place that lent them, and nothing is freed.
 *
 * <pre>{@code
 * try (TensorLoan loan = tensors.lend()) {
 *     engine.run(tensors.address("lm_head.weight"));
 * }
 * }</pre>
 *
 * <p>
 * {@link LoadedTensor#lend} and {@link LoadedTensors#lend} make loans. The collector ends no forgotten loan: only the program knows when
 * native code is done. Thread-safe.
 *
 * @since 0.1
 */
public final class TensorLoan implements AutoCloseable {

    private final List<Loan> loans;

    private TensorLoan(List<Loan> loans) {
        this.loans = loans;
    }

    /** Lends memory, all of it or none. */
    static TensorLoan of(String what, Iterable<MemoryRange> memory) {
        String borrower = what + ", at " + CallSite.ofCaller();
        List<Loan> loans = new ArrayList<>();
        return Undo.ifFails(() -> Closing.all(loans, Loan::close), () -> {
            memory.forEach(range -> loans.add(MemoryAccess.USES.lend(range, borrower)));
            return new TensorLoan(loans);
        });
    }

    /** Returns true until {@link #close}. */
    public boolean isOpen() {
        return loans.stream().anyMatch(Loan::isOpen);
    }

    /** Ends the loan. Idempotent. */
    @Override
    public void close() {
        Closing.all(loans, Loan::close);
    }

    @Override
    public String toString() {
        return "TensorLoan[%s]".formatted(isOpen() ? "open" : "closed");
    }
}
