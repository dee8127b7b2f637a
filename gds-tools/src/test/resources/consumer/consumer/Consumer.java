package consumer;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Writes a file from memory, reads it back into other memory and compares the bytes. */
public final class Consumer {
    private static final long SIZE = (1L << 20) + 1234;

    private Consumer() {
    }

    /** Takes the path of the file as its only argument. */
    public static void main(String[] args) {
        Path file = Path.of(args[0]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation from = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                MemoryAllocation to = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            MemorySegment pattern = from.range().segment().orElseThrow();
            for (long i = 0; i < SIZE; i++) {
                pattern.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >>> 8)));
            }
            try (CuFileHandle out = driver.openFile(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                out.write(from.range(), 0);
            }
            long read;
            try (CuFileHandle in = driver.openFile(file)) {
                read = in.read(to.range(), 0);
            }
            boolean same = pattern.mismatch(to.range().segment().orElseThrow()) < 0;
            String place = Consumer.class.getModule().isNamed() ? "module path" : "class path";
            System.out.println(place + " " + driver.backendName() + " " + read + " " + (same ? "ok" : "different"));
        }
    }
}
