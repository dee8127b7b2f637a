package io.gds4j.engine.lifecycle;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Ways in which a program ends, or closes its driver, during {@link Traffic}. */
public enum JvmEnd {
    /** Nothing is closed. */
    EXIT(41) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) {
            System.exit(status());
        }
    },
    /** Runtime.halt: no hook runs. */
    HALT(42) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) {
            Runtime.getRuntime().halt(status());
        }
    },
    /** An exception leaves main, and no other thread keeps the JVM alive. */
    UNCAUGHT(1) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) {
            throw new IllegalStateException("of the program");
        }
    },
    /** Another thread closes the driver. */
    CLOSE(0) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) throws InterruptedException {
            closer(driver).join();
            traffic.awaitRefusals();
        }
    },
    /** The JVM exits while another thread closes the driver. */
    EXIT_IN_CLOSE(43) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) {
            closer(driver);
            System.exit(status());
        }
    },
    /** A hook of the program closes the driver after the backend refuses work, and opens another one. */
    CLOSE_IN_HOOK(44) {
        @Override
        void end(Program program, CuFileDriver driver, Traffic traffic) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                traffic.awaitRefusals();
                driver.close();
                openInVain(program);
            }));
            System.exit(status());
        }
    };

    /** A program that opens its first driver while the JVM exits. */
    static final String OPEN_IN_HOOK = "OPEN_IN_HOOK";

    private final int status;

    JvmEnd(int status) {
        this.status = status;
    }

    /**
     * A program that moves bytes.
     *
     * @param drivers opened when they are asked for
     * @param file of 1 MiB, whose bytes may change
     * @param streams new ones
     */
    public record Program(Supplier<CuFileDriver> drivers, Path file, Supplier<Traffic.Stream> streams) {
    }

    /** {@return the exit status of the process} */
    public int status() {
        return status;
    }

    abstract void end(Program program, CuFileDriver driver, Traffic traffic) throws InterruptedException;

    /**
     * Runs a program in the main thread, to its end.
     *
     * @param how name of an end, or {@link #OPEN_IN_HOOK}
     */
    public static void run(Program program, String how) throws InterruptedException {
        if (how.equals(OPEN_IN_HOOK)) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> openInVain(program)));
        } else {
            valueOf(how).run(program);
        }
    }

    private void run(Program program) throws InterruptedException {
        CuFileDriver driver = program.drivers().get();
        Traffic traffic = Traffic.start(driver, program.file(), program.streams());
        System.out.println("in flight");
        traffic.beginEnd();
        end(program, driver, traffic);
    }

    private static void openInVain(Program program) {
        try {
            program.drivers().get();
            System.out.println("wrong: it is open");
        } catch (CuFileException e) {
            System.out.println(e.error() + ": " + e.detail());
        }
    }

    private static Thread closer(CuFileDriver driver) {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                driver.close();
            } catch (RuntimeException e) {
                System.out.println("wrong: " + e);
            }
        });
    }
}
