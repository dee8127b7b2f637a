package io.gds4j.compat;

import io.gds4j.engine.lifecycle.JvmEndTest;
import io.gds4j.ffi.ChildJvm;
import java.nio.file.Path;

/** The compat backend with host memory and that of a GPU that is not there. */
class CompatEndTest extends JvmEndTest {
    @Override
    protected ChildJvm.End run(Path folder, Path file, String how) {
        return new ChildJvm(ChildScenario.class, folder, CompatBackend.class).run("end", file.toString(), how);
    }
}
