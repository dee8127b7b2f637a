package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArchiveTrainingTest {
    @TempDir
    private Path folder;

    @Test
    void fileIsLoadedByHttp() throws Exception {
        HttpServer server = ArchiveTraining.serve(TestCheckpoints.odd(folder.resolve("model.safetensors")));

        GdsRun run = GdsRun.gds("load", ArchiveTraining.location(server), "-t", "host", "--json");
        server.stop(0);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("\"path\":\"http://127.0.0.1:", "\"USER_SOURCE\":");
    }

    @Test
    void checkpointOfPytorchIsThere() {
        GdsRun run = GdsRun.gds("load", Path.of("target").resolve(ArchiveTraining.DISTCP).toString(), "-t", "host",
                "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("\"format\":\"distcp\"");
    }
}
