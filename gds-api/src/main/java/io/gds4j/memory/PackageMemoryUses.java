package io.gds4j.memory;

import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Loan;
import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.internal.lifetime.ThreadState;
import java.util.function.LongConsumer;

/** Gives gds4j's own modules access to package-private methods. */
final class PackageMemoryUses extends MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> {
    @Override
    public void enter(MemoryRange range, ThreadState here) {
        range.enter(here);
    }

    @Override
    public void exit(MemoryRange range, ThreadState here) {
        range.exit(here);
    }

    @Override
    public void claim(MemoryRange range) {
        range.claim();
    }

    @Override
    public void unclaim(MemoryRange range) {
        range.unclaim();
    }

    @Override
    public Loan lend(MemoryRange range, Object borrower) {
        return range.lend(borrower);
    }

    @Override
    public Lifetime lifetime(DmaBuf buffer) {
        return buffer.lifetime();
    }

    @Override
    public Lifetime lifetimeOf(MemoryAllocation allocation) {
        return allocation.lifetime();
    }

    @Override
    public void beforeFree(MemoryAllocation allocation, LongConsumer listener) {
        allocation.beforeFree(listener);
    }

    @Override
    public void copiedBy(MemoryAllocation allocation, MemoryUses.Copies<MemoryRange> copies) {
        allocation.copiedBy(copies);
    }

    @Override
    public long cudaContext(MemoryAllocation allocation, Object source) {
        return allocation.cudaContext(source);
    }

    @Override
    public void rememberCudaContext(MemoryAllocation allocation, Object source, long context) {
        allocation.rememberCudaContext(source, context);
    }
}
