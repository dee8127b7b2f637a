package io.gds4j.interop.nvtx;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Does one of each operation that has a range. */
final class RangesChild {
    private RangesChild() {
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        String header = "{\"t\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}   ";
        byte[] file = new byte[8 + header.length() + 16];
        file[0] = (byte) header.length();
        System.arraycopy(header.getBytes(StandardCharsets.US_ASCII), 0, file, 8, header.length());
        Path checkpoint = Files.write(folder.resolve("m.safetensors"), file);
        Path data = Files.write(folder.resolve("data"), new byte[4096]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
                CuFileHandle handle = driver.openFile(data, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            handle.read(memory, 1000, 0, 0);
            handle.write(memory, 1001, 0, 0);
            Thread.ofVirtual().start(() -> handle.read(memory, 1002, 0, 0)).join();
            handle.readAsync(memory, 1003, 0, 0).join();
            try (CuFileBatch batch = driver.batch(1)) {
                batch.submit(List.of(CuFileBatch.Request.read(handle, memory, 1004, 0, 0)));
                batch.await(1, Duration.ofSeconds(30));
            }
            try (HostStream work = HostStream.create();
                    CuFileStream stream = driver.stream(work.address(), Set.of())) {
                stream.read(handle, memory, CuFileStream.Cells.of(1006, 0, 0));
                work.synchronize();
            }
            try (LoadedTensors tensors = Checkpoint.open(checkpoint).plan().load(driver)) {
                if (tensors.names().size() != 1) {
                    throw new AssertionError(tensors);
                }
            }
        }
    }
}
