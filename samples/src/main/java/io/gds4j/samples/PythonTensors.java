package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.interop.dlpack.DlPackDevice;
import io.gds4j.interop.dlpack.DlPackImport;
import io.gds4j.interop.dlpack.DlPackTensor;
import io.gds4j.interop.dlpack.DlPackType;
import io.gds4j.interop.dlpack.DlPackVersion;
import io.gds4j.memory.MemoryAllocation;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Shares tensors with PyTorch, or with NumPy where PyTorch is not installed, in the same process and without a copy: Python
 * computes with memory that gds4j has read a file into, and gds4j reads the file into memory that Python has allocated. Without
 * Python it reads the file only.
 */
final class PythonTensors {
    private static final int MAX_BYTES = 16 << 20;
    private static final DlPackType F32 = new DlPackType(2, 32, 1);
    private static final String LESSON = "DLPack shares one tensor between runtimes; the last user frees it.";

    /** Chooses the library and finds out which DLPack it knows. */
    private static final String PREPARE = """
            import gc
            class Lent:
                def __init__(self, capsule, device):
                    self.capsule, self.device = capsule, device
                def __dlpack__(self, stream=None, max_version=None, **ignored):
                    Lent.major = max_version[0] if max_version else 0
                    if self.capsule is None:
                        raise BufferError('a capsule is used once')
                    capsule, self.capsule = self.capsule, None
                    return capsule
                def __dlpack_device__(self):
                    return self.device
            Lent.major = 0
            try:
                import torch as library
                torch_here = 1
                cuda = int(library.cuda.is_available())
                address = lambda t: t.data_ptr()
            except ImportError:
                try:
                    import numpy as library
                except ImportError:
                    library = None
                torch_here = cuda = 0
                address = lambda t: t.__array_interface__['data'][0]
            here = int(library is not None)
            try:
                library.from_dlpack(Lent(None, (1, 0)))
            except Exception:
                pass
            major = Lent.major
            """;
    private static final String COMPUTE = """
            tensor = library.from_dlpack(Lent(lent, (%d, %d)))
            del lent
            where = int(address(tensor))
            total = float(tensor.sum())
            del tensor
            gc.collect()
            """;
    private static final String ALLOCATE = """
            if torch_here:
                mine = library.zeros(%d, dtype=library.float32, device='cuda:%d' if %d else 'cpu')
            else:
                mine = library.zeros(%d, dtype=library.float32)
            if cuda:
                library.cuda.synchronize()  # the zeros are written before gds4j reads
            where = int(address(mine))
            try:
                capsule = mine.__dlpack__(max_version=(1, 0))
            except TypeError:
                capsule = mine.__dlpack__()
            """;

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final CuFileHandle file;
    private final MemoryAllocation memory;
    private final double sum;

    private PythonTensors(
            SampleArguments arguments,
            CuFileDriver driver,
            CuFileHandle file,
            MemoryAllocation memory,
            double sum) {
        this.arguments = arguments;
        this.driver = driver;
        this.file = file;
        this.memory = memory;
        this.sum = sum;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(PythonTensors::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        int floats = Math.max(1, Math.min(arguments.size(), MAX_BYTES) / Float.BYTES);
        byte[] data = new byte[floats * Float.BYTES];
        ByteBuffer values = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < floats; i++) {
            values.putFloat(i % 3);
        }
        double sum = floats / 3 * 3.0 + (floats % 3 == 2 ? 1 : 0);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(arguments.folder().resolve("tensor"), CREATE_NEW, READ, WRITE);
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            Bytes.put(driver, data, memory.range());
            file.write(memory, 0);
            driver.allocator().fill(memory.range(), (byte) 0);
            long start = System.nanoTime();
            file.readFully(memory, 0);
            double seconds = (System.nanoTime() - start) / 1e9;
            boolean verified = new PythonTensors(arguments, driver, file, memory, sum).share();
            return new SampleResult(data.length, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private boolean share() {
        EmbeddedPython.Found found = EmbeddedPython.detect();
        if (found.python().isEmpty()) {
            arguments.say("%s: Python is left out", found.reason());
            return true;
        }
        EmbeddedPython python = found.python().get();
        python.run(PREPARE);
        if (python.integer("here") == 0) {
            arguments.say("neither torch nor numpy is installed: Python is left out");
            return true;
        }
        if (memory.range().kind().isCuda() && python.integer("cuda") == 0) {
            arguments.say("no PyTorch with CUDA: Python is left out");
            return true;
        }
        return lend(python) & read(python);
    }

    /** Python computes with our memory. */
    private boolean lend(EmbeddedPython python) {
        DlPackVersion version = DlPackVersion.forConsumer((int) python.integer("major"));
        // PyTorch knows neither managed nor pinned memory as such.
        DlPackDevice device =
                memory.range().kind().isCuda() ? DlPackDevice.cuda(memory.range().device()) : DlPackDevice.CPU;
        DlPackTensor tensor = DlPackTensor
                .compact(memory.range(), F32, List.of(memory.length() / Float.BYTES))
                .onDevice(device);
        python.lend("lent", tensor.capsule(version));
        python.run(COMPUTE.formatted(tensor.device().type(), tensor.device().id()));
        return verify(python, memory.address(), "gds4j's memory", python.number("total"));
    }

    /** gds4j fills Python's memory. */
    private boolean read(EmbeddedPython python) {
        boolean gpu = memory.range().kind().isCuda();
        long floats = memory.length() / Float.BYTES;
        python.run(ALLOCATE.formatted(floats, arguments.gpu(), gpu ? 1 : 0, floats));
        try (DlPackImport imported = python.take("capsule").open()) {
            file.readFully(imported.memory(), 0);
            python.run("total = float(mine.sum())");
            boolean verified = verify(python, imported.memory().address(), "Python's memory", python.number("total"));
            python.run("del mine, capsule");
            return verified;
        }
    }

    private boolean verify(EmbeddedPython python, long address, String whose, double total) {
        String library = python.integer("torch_here") == 1 ? "PyTorch" : "NumPy";
        arguments.say("%s: gds4j has it at 0x%x, %s at 0x%x, sum %.0f of %.0f",
                whose, address, library, python.integer("where"), total, sum);
        return python.integer("where") == address && total == sum;
    }
}
