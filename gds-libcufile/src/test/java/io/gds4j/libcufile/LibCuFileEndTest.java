package io.gds4j.libcufile;

import io.gds4j.CuFileDriver;
import io.gds4j.engine.lifecycle.JvmEnd;
import io.gds4j.engine.lifecycle.JvmEndTest;
import io.gds4j.engine.lifecycle.Traffic;
import io.gds4j.ffi.ChildJvm;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** Ends of a process that uses libcufile, over the double, which prints broken rules when it closes. */
@Tag("slow")
class LibCuFileEndTest extends JvmEndTest {
    @Override
    protected ChildJvm.End run(Path folder, Path file, String how) {
        return new ChildJvm(Child.class, folder).run(file.toString(), how);
    }

    @Override
    protected List<String> saidAtClose() {
        return List.of("closed, broken: []");
    }

    /** The process that ends. */
    static final class Child {
        public static void main(String[] args) throws InterruptedException {
            FakeMachine machine = new FakeMachine();
            machine.fake.driver().onClose(() -> System.out.println("closed, broken: " + machine.fake.violations()));
            JvmEnd.run(
                    new JvmEnd.Program(
                            () -> CuFileDriver.open(machine.backend()),
                            Path.of(args[0]),
                            () -> Traffic.streamOf(machine.cuda.available())),
                    args[1]);
        }
    }
}
