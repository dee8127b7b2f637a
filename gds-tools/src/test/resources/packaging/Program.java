package app;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackendProvider;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

public final class Program {
    public static void main(String[] args) {
        List<String> backends = CuFileDriver.providers().stream().map(CuFileBackendProvider::name).toList();
        Path copy = Path.of("tensor.bin");
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.open(Path.of(args[0])).plan().toBest(driver).load(driver);
                CuFileHandle file = driver.openFile(
                        copy, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            LoadedTensor tensor = tensors.tensors().getFirst();
            file.write(tensor.range(), 0);
            try (MemoryAllocation back = driver.allocator().allocate(MemoryKind.HOST, tensor.length())) {
                file.readFully(back, 0);
                byte[] expected = new byte[Math.toIntExact(tensor.length())];
                tensors.copyToHost(tensor.info().name(), MemorySegment.ofArray(expected));
                boolean same = MemorySegment.ofArray(expected).mismatch(back.segment()) < 0;
                System.out.printf("%s of %s: %s, %d bytes, %s%n", driver.backendName(), backends,
                        tensor.info().name(), tensor.length(), same ? "same" : "different");
            }
        }
    }
}
