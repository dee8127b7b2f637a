package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The reserve depends on how a JVM checks its stack, so each JDK that runs the tests shows it for its interpreter and its compilers. */
class StackReserveTest {
    /** Calls that take 5 KiB at most, of the 8 that are left. */
    private static final int CALLS = 40;

    @ParameterizedTest
    @ValueSource(strings = {"-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"})
    void callsFitIntoTheReserve(String compiler) throws IOException, InterruptedException {
        Process java = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), compiler, "-Xss512k",
                "-cp", System.getProperty("java.class.path"), Deep.class.getName()).redirectErrorStream(true).start();
        String said = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        java.waitFor();

        assertThat(said).as("%s with %s", System.getProperty("java.vm.version"), compiler).isEqualTo("0 of 21");
    }

    /** Descends until the reserve is all that is left, and counts how often it was too small. */
    static final class Deep {
        private static final int DESCENTS = 21;
        private static boolean tooSmall;

        private Deep() {
        }

        public static void main(String[] args) {
            for (int i = 0; i < 20_000; i++) { // until the compiler has compiled both
                StackReserve.require();
                spend(1);
            }
            int failures = 0;
            for (int i = 0; i < DESCENTS; i++) {
                tooSmall = false;
                try {
                    descend(i % 7);
                } catch (StackOverflowError e) {
                    failures += tooSmall ? 1 : 0;
                }
            }
            System.out.println(failures + " of " + DESCENTS);
        }

        /** Its first calls, which have other frames, let the end lie at other places. */
        private static long descend(long skew) {
            if (skew > 0) {
                return descend(skew - 1, skew) + 1;
            }
            StackReserve.require();
            tooSmall = true;
            spend(CALLS);
            tooSmall = false;
            return descend(0) + 1;
        }

        private static long descend(long skew, long more) {
            return descend(skew) + more;
        }

        private static int spend(int calls) {
            return calls == 0 ? 0 : spend(calls - 1) + 1;
        }
    }
}
