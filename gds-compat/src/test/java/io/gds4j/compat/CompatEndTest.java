package io.gds4j.compat;

import io.gds4j.engine.lifecycle.JvmEndTest;
import io.gds4j.ffi.ChildJvm;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;

/** Exits of a program that uses compat, with host memory and the memory of a fake GPU. */
@Tag("slow")
class CompatEndTest extends JvmEndTest {
    @Override
    protected ChildJvm.End run(Path folder, Path file, String how) {
        return new ChildJvm(ChildScenario.class, folder, CompatBackend.class).run("end", file.toString(), how);
    }
}
