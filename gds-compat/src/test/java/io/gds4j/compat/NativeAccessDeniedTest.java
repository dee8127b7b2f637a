package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A program that Java denies native access learns the option from one line. */
class NativeAccessDeniedTest {
    /** Opens a driver and prints the failure. */
    static final class Opens {
        private Opens() {
        }

        public static void main(String[] args) {
            try {
                CuFileDriver.open(CuFileConfig.defaults()).close();
                System.out.println("opened");
            } catch (CuFileException e) {
                boolean serves = CuFileDriver.diagnose(CuFileConfig.defaults()).backend().isPresent();
                System.out.println("%s; serves: %s".formatted(e.getMessage(), serves));
            }
        }
    }

    @Test
    void openingADriverNamesTheOptionInOneLine() throws Exception {
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "--illegal-native-access=deny", "-cp", System.getProperty("java.class.path"), Opens.class.getName())
                .redirectErrorStream(true).start();
        String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(output.strip()).hasLineCount(1)
                .contains("native access is denied: start java with --enable-native-access=ALL-UNNAMED",
                        "programs still open, list, map, decode, verify, convert and save checkpoints",
                        "5007", "serves: false");
    }
}
