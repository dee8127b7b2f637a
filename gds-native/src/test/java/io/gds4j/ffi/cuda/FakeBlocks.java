package io.gds4j.ffi.cuda;

import java.util.Collection;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** All memory that {@link FakeCuda} knows, by address. */
final class FakeBlocks {
    private final NavigableMap<Long, FakeBlock> byAddress = new TreeMap<>();

    void add(FakeBlock block) {
        byAddress.put(block.address, block);
    }

    /** Returns the block of one of the kinds that starts at this address, or null. */
    FakeBlock at(long address, FakeBlock.Kind... kinds) {
        FakeBlock block = byAddress.get(address);
        for (FakeBlock.Kind kind : kinds) {
            if (block != null && block.kind == kind) {
                return block;
            }
        }
        return null;
    }

    /** Returns the block that holds this address, or null. */
    FakeBlock around(long address) {
        Map.Entry<Long, FakeBlock> entry = byAddress.floorEntry(address);
        return entry != null && entry.getValue().holds(address, 1) ? entry.getValue() : null;
    }

    /** Returns true if any byte of the range is known. */
    boolean overlaps(long address, long bytes) {
        Map.Entry<Long, FakeBlock> before = byAddress.lowerEntry(address + bytes);
        return before != null && before.getValue().address + before.getValue().bytes > address;
    }

    void remove(FakeBlock block) {
        byAddress.remove(block.address);
    }

    Collection<FakeBlock> all() {
        return byAddress.values();
    }
}
