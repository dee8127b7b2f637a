package io.gds4j.spring;

import io.gds4j.CuFileDriver;
import io.gds4j.config.DirectStorage;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import java.nio.file.Path;
import java.util.List;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Up while the driver is open, the paths can be examined, and direct storage serves them if it must. */
final class GdsHealthIndicator extends AbstractHealthIndicator {
    private final CuFileDriver driver;
    private final DirectStorage wanted;
    private final Path[] paths;

    GdsHealthIndicator(CuFileDriver driver, GdsProperties properties) {
        super("gds4j cannot be diagnosed");
        this.driver = driver;
        this.wanted = properties.directStorage();
        this.paths = properties.health().paths().stream()
                .map(path -> GdsProperties.pathOf("gds4j.health.paths", path))
                .toArray(Path[]::new);
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        if (!driver.isOpen()) {
            builder.down().withDetail("driver", "closed");
            return;
        }
        Diagnosis diagnosis = driver.diagnose(paths);
        List<String> failed = diagnosis.paths().stream()
                .filter(report -> report.failure().isPresent())
                .map(PathReport::note)
                .toList();
        boolean direct = diagnosis.directStorage();
        boolean lacking = wanted == DirectStorage.REQUIRE && paths.length > 0 && !direct;
        builder.status(failed.isEmpty() && !lacking ? "UP" : "DOWN")
                .withDetail("backend", driver.backendName())
                .withDetail("why", diagnosis.why())
                .withDetail("gpus", diagnosis.gpus().stream().map(Gpu::name).toList())
                .withDetail("directStorage", direct);
        if (!failed.isEmpty()) {
            builder.withDetail("failed", failed);
        }
    }
}
