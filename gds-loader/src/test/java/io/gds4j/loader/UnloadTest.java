package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.CompatBackend;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.testkit.RandomBytes;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A class loader that has opened a driver is collected once the driver is closed, though the threads that used it live on. */
@Tag("slow")
class UnloadTest {
    @Test
    void classLoadersOfClosedDriversAreCollected(@TempDir Path folder) {
        ChildJvm child =
                new ChildJvm(UnloadChild.class, folder, Checkpoint.class, CompatBackend.class, RandomBytes.class,
                        FakeCuda.class, Assertions.class)
                        .with("-XX:SoftRefLRUPolicyMSPerMB=0"); // caches of the JDK give way to every collection, as if memory were short
        List<String> uses = Stream.of(UnloadUse.values()).map(Enum::name).toList();
        ChildJvm.End end = child.run(
                Stream.concat(Stream.of(folder.toString()), uses.stream()).toArray(String[]::new));
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output()).isEmpty();
    }
}
