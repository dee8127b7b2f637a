package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CallSiteTest {
    @ParameterizedTest
    @CsvSource({
            "io.gds4j.CuFileDriver, false",
            "io.gds4j.diagnosis.Diagnosis, false",
            "io.gds4j.source.SourcePath, false",
            "io.gds4j.internal.lifetime.Lifetime, false",
            "io.gds4j.dataset.RecordMemory, false",
            "io.gds4j.remote.HttpSource, false",
            "io.gds4j.interop.dlpack.DlPackImport, false",
            "io.gds4j.rdma.ProtectionDomain, false",
            "io.gds4j.spark.GdsExecutor, false",
            "java.util.stream.Stream, false",
            "io.gds4j.samples.Streams, true",
            "io.gds4j.tools.load.LoadRun, true",
            "com.example.Model, true"})
    void objectsAreReportedWhereAProgramMadeThem(String className, boolean program) {
        assertThat(CallSite.isProgram(className)).isEqualTo(program);
    }
}
