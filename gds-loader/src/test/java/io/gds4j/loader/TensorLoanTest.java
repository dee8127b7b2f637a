package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tensors that native code uses are not freed under it. {@code -Dgds4j.property.seconds} of 10 or more tries 10,000 orders of closing. */
@Timeout(60)
class TensorLoanTest {
    private static final int ORDERS = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 10_000 : 300;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private Path file;

    @BeforeEach
    void write() {
        file = folder.resolve("model.safetensors");
        new SafetensorsWriter(file)
                .tensor("a", DType.F32, 4, 6).tensor("b", DType.BF16, 7).tensor("none", DType.F32, 0)
                .write(new TensorPattern(76));
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private LoadPlan plan() {
        return Checkpoint.open(file).plan();
    }

    private static CuFileException refused(CuFileError error, ThrowingCallable call) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, call);
        assertThat(refused).isNotNull();
        assertThat(refused.error()).as(refused.getMessage()).isEqualTo(error);
        assertThat(refused.getMessage()).doesNotContain("\n");
        return refused;
    }

    private static void busy(AutoCloseable lent, String lender) {
        CuFileException busy = refused(CuFileError.IO_NOT_SUPPORTED, lent::close);
        assertThat(busy.errno()).hasValue(Errno.EBUSY);
        assertThat(busy.getMessage()).contains(lender);
    }

    @Test
    void closeUnderALoanChangesNothingAndNamesTheLender() {
        for (LoadedTensors tensors : List.of(plan().load(driver), plan().map())) {
            TensorLoan one = tensors.get("a").lend();
            busy(tensors, "lent by LoadedTensor.lend() of 'a', at ");
            assertThat(tensors.get("a").segment().get(ValueLayout.JAVA_BYTE, 0)).isNotNull();
            one.close();
            one.close();
            TensorLoan all = tensors.lend();
            busy(tensors, "lent by LoadedTensors.lend(), at ");
            assertThat(all.isOpen()).isTrue();
            all.close();
            assertThat(all.isOpen()).isFalse();
            tensors.close();
            refused(CuFileError.CUDA_POINTER_INVALID, tensors::lend);
        }
        assertThat(driver.allocator().usage().values()).allSatisfy(kind -> assertThat(kind.bytes()).isZero());
    }

    @Test
    void takenTensorStaysLent() {
        LoadedTensors tensors = plan().load(driver);
        LoadedTensor tensor = tensors.get("a");
        MemoryAllocation taken = tensors.take("a");
        tensors.close();
        try (TensorLoan loan = tensor.lend()) {
            assertThat(loan.isOpen()).isTrue();
            assertThat(tensor.segment().get(ValueLayout.JAVA_BYTE, 0)).isNotNull();
        }
        taken.close();
        assertThat(driver.allocator().usage().values()).allSatisfy(kind -> assertThat(kind.bytes()).isZero());
    }

    @Test
    void tensorOfAnOddAddressIsNotLent() {
        String header = """
                {"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},\
                "y":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}""";
        Path odd = HeaderText.write(folder.resolve("odd.safetensors"), HeaderText.file(header, 9));
        try (LoadedTensors mapped = Checkpoint.open(odd).plan().map();
                LoadedTensors loaded = Checkpoint.open(odd).plan().load(driver)) {
            mapped.get("x").lend().close();
            assertThat(refused(CuFileError.INVALID_VALUE, () -> mapped.get("y").lend()).getMessage())
                    .contains("tensor 'y' of F32", "no multiple of 4: load aligns it");
            refused(CuFileError.INVALID_VALUE, mapped::lend);
            loaded.lend().close();
        }
    }

    @Test
    void memoryOfTheProgramIsLentIfItStays() {
        try (Arena shared = Arena.ofShared()) {
            MemoryRange closeable = MemoryRange.ofSegment(shared.allocate(1 << 20));
            try (LoadedTensors tensors = plan().into(closeable).load(driver)) {
                assertThat(refused(CuFileError.INVALID_VALUE, () -> tensors.get("a").lend()).getMessage())
                        .contains("arena");
                refused(CuFileError.INVALID_VALUE, tensors::lend);
            }
            MemoryRange stays = MemoryRange.ofSegment(Arena.ofAuto().allocate(1 << 20));
            try (LoadedTensors tensors = plan().into(stays).load(driver)) {
                tensors.lend().close();
            }
        }
    }

    @Test
    @Timeout(300)
    void anyOrderOfClosingLeavesNoLoan() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Checkpoint checkpoint = Checkpoint.open(file);
        for (int order = 0; order < ORDERS; order++) {
            LoadedTensors tensors =
                    order % 20 > 0 ? checkpoint.plan().map() : checkpoint.plan().include("a").load(driver);
            List<AutoCloseable> open = new ArrayList<>();
            for (int i = random.nextInt(4); i > 0; i--) {
                open.add(random.nextBoolean() ? tensors.lend() : tensors.get("a").lend());
            }
            while (!open.isEmpty()) {
                if (random.nextInt(3) == 0) {
                    busy(tensors, "lent by");
                }
                assertThat(tensors.size()).as("seed %s", seed).isPositive();
                closeQuietly(open.remove(random.nextInt(open.size())));
            }
            tensors.close();
        }
        assertThat(driver.allocator().usage().values()).allSatisfy(kind -> assertThat(kind.bytes()).isZero());
    }

    private static void closeQuietly(AutoCloseable one) {
        try {
            one.close();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
