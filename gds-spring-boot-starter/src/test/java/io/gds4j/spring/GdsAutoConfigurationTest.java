package io.gds4j.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.interop.metrics.GdsMetrics;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.FakeGpu;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;

/** What an application gets that has the starter on its class path. */
@Tag("slow")
class GdsAutoConfigurationTest {
    @TempDir
    private Path folder;

    private ApplicationContextRunner application = new ApplicationContextRunner();
    private String model = "";

    @BeforeEach
    void writeCheckpoint() {
        model = folder.resolve("model.safetensors").toString();
        SavePlan.builder()
                .generated("model.norm.weight", DType.F32, new TensorPattern(0), 8)
                .generated("lm_head.weight", DType.BF16, new TensorPattern(0), 32, 8)
                .toFile(Path.of(model)).save();
        application = application.withConfiguration(AutoConfigurations.of(GdsAutoConfiguration.class))
                .withPropertyValues("gds4j.backend=compat");
    }

    @Test
    void driverAndCheckpointAreBeansThatTheContextCloses() {
        AtomicReference<CuFileDriver> driver = new AtomicReference<>();
        application.withPropertyValues("gds4j.checkpoints.llama.path=" + model, "gds4j.checkpoints.llama.target=host")
                .run(context -> {
                    driver.set(context.getBean(CuFileDriver.class));
                    assertThat(driver.get().backendName()).isEqualTo("compat");
                    assertThat(context.getBean("llama", LoadedTensors.class)).hasSize(2);
                });
        assertThat(driver.get().isOpen()).isFalse();
    }

    @Test
    void driverOfTheApplicationLoadsToItsGpu() {
        FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();
        application.withBean(CuFileDriver.class, gpu::openDriver)
                .withPropertyValues("gds4j.checkpoints.llama.path=" + model, "gds4j.checkpoints.llama.target=gpu:1",
                        "gds4j.checkpoints.llama.include=lm_head")
                .run(context -> {
                    LoadedTensors tensors = context.getBean(LoadedTensors.class);
                    assertThat(tensors).hasSize(1);
                    assertThat(tensors.range("lm_head.weight").kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                    assertThat(gpu.availableBytes(1)).isLessThan(1 << 20);
                });
        gpu.verify();
    }

    @Test
    void healthTellsWhatServesAndWhichPathFails() {
        application.withPropertyValues("gds4j.health.paths=" + model).run(context -> {
            Health health = context.getBean(HealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.UP);
            assertThat(health.getDetails()).containsEntry("backend", "compat").containsKeys("why", "gpus",
                    "directStorage");
        });
        application.withPropertyValues("gds4j.health.paths=" + folder.resolve("missing")).run(context -> {
            Health health = context.getBean(HealthIndicator.class).health();
            assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            assertThat(health.getDetails().get("failed")).asString().contains("missing");
        });
    }

    @Test
    void loadsAtTheStartAreCounted() {
        MeterRegistry registry = new SimpleMeterRegistry();
        application.withBean(MeterRegistry.class, () -> registry)
                .withPropertyValues("gds4j.checkpoints.llama.path=" + model)
                .run(context -> context.getBean(GdsMetrics.class).close());
        assertThat(registry.get("gds4j.checkpoints").tag("checkpoint", "model.safetensors").timer().count())
                .isEqualTo(1);
    }

    /** Spring Boot makes a composite of several registries. */
    @Test
    void compositeCountsALoadOnce() {
        SimpleMeterRegistry first = new SimpleMeterRegistry();
        SimpleMeterRegistry second = new SimpleMeterRegistry();
        CompositeMeterRegistry both = new CompositeMeterRegistry(Clock.SYSTEM, List.of(first, second));
        application.withBean("first", MeterRegistry.class, () -> first)
                .withBean("second", MeterRegistry.class, () -> second)
                .withBean("both", MeterRegistry.class, () -> both)
                .withPropertyValues("gds4j.checkpoints.llama.path=" + model)
                .run(context -> context.getBean(GdsMetrics.class).close());
        assertThat(List.of(first, second, both)).allSatisfy(
                registry -> assertThat(registry.get("gds4j.checkpoints").timer().count()).isEqualTo(1));
    }

    @Test
    void healthIsDisabledAsThatOfOthers() {
        application.withPropertyValues("management.health.gds4j.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class).hasNotFailed());
    }

    /** Their beans are defined when the program starts, by the properties it has then. */
    @Test
    void programIsProcessedAheadOfTimeWithoutItsCheckpoints() {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            TestPropertyValues.of("gds4j.checkpoints.llama.path=" + model).applyTo(context);
            context.register(GdsAutoConfiguration.class);
            InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
            DefaultGenerationContext generation = new DefaultGenerationContext(
                    new ClassNameGenerator(ClassName.get(GdsAutoConfigurationTest.class)), files);
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
            generation.writeGeneratedContent();
            assertThat(files.getGeneratedFiles(Kind.SOURCE).values())
                    .extracting(source -> new String(source.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .anyMatch(source -> source.contains("gdsCheckpoints"))
                    .noneMatch(source -> source.contains("llama"));
        }
    }

    @Test
    void applicationNeedsNeitherMicrometerNorActuator() {
        application.withClassLoader(new FilteredClassLoader(MeterRegistry.class, HealthIndicator.class))
                .run(context -> assertThat(context).hasSingleBean(CuFileDriver.class).hasNotFailed());
    }

    @Test
    void disabledStarterAddsNoBean() {
        application.withPropertyValues("gds4j.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(CuFileDriver.class));
    }

    static Stream<Arguments> wrongProperties() {
        String target = "gds4j.checkpoints.llama.target=";
        String path = "gds4j.checkpoints.llama.path=";
        return Stream.of(
                arguments(List.of(path + "MODEL", target + "gpu1"),
                        "Bean llama: gds4j.checkpoints.llama.target: gpu1, allowed: best"),
                arguments(List.of(path + "MODEL", target + "gpu:99999"),
                        "gds4j.checkpoints.llama.target: gpu:99999, allowed: best"),
                arguments(List.of(path + "MODEL", "gds4j.checkpoints.llama.include=(("),
                        "Bean llama: LoadPlan: not a regular expr"),
                arguments(List.of(target + "host"), "gds4j.checkpoints.llama.path: not set, allowed: a file"),
                arguments(List.of(path + "a\0b"), "gds4j.checkpoints.llama.path: no path: Nul character"),
                arguments(List.of(path + "https://me:secret@a b/model?secret"),
                        "gds4j.checkpoints.llama.path: no URI: Illegal character in authority at index"),
                arguments(List.of("gds4j.cufile-json=a\0b"), "gds4j.cufile-json: no path: Nul"),
                arguments(List.of("gds4j.health.paths=a\0b"), "gds4j.health.paths: no path: Nul"),
                arguments(List.of("gds4j.health.paths=https://me:secret@host/model"),
                        "gds4j.health.paths: a URI, allowed"));
    }

    @ParameterizedTest
    @MethodSource("wrongProperties")
    void wrongPropertyFailsTheStartAndIsExplained(List<String> properties, String explanation) {
        application
                .withPropertyValues(properties.stream().map(one -> one.replace("MODEL", model)).toArray(String[]::new))
                .run(context -> assertThat(new GdsFailureAnalyzer().analyze(context.getStartupFailure()))
                        .extracting(FailureAnalysis::getDescription)
                        .asString()
                        .contains(explanation)
                        .doesNotContain("secret", "\n"));
    }

    /** Without brackets a name with a dot named no checkpoint, and an application started without it. */
    @Test
    void nameWithADotNeedsBrackets() {
        application.withPropertyValues("gds4j.checkpoints.llama3.1.path=" + model)
                .run(context -> assertThat(context).getFailure()
                        .hasRootCauseInstanceOf(UnboundConfigurationPropertiesException.class)
                        .rootCause()
                        .hasMessageContaining("gds4j.checkpoints.llama3.1.path"));
        application.withPropertyValues("gds4j.checkpoints[llama3.1].path=" + model)
                .run(context -> assertThat(context.getBean("llama3.1", LoadedTensors.class)).hasSize(2));
    }

    @Test
    void nameOfAnotherBeanIsExplained() {
        application.withPropertyValues("gds4j.checkpoints.cuFileDriver.path=" + model)
                .run(context -> assertThat(context).getFailure()
                        .hasMessageContaining("'cuFileDriver' defined in gds4j.checkpoints.cuFileDriver"));
    }

    @Test
    void childContextSharesTheCheckpointsOfItsParent() {
        application.withPropertyValues("gds4j.checkpoints.llama.path=" + model)
                .run(parent -> application.withParent(parent)
                        .withPropertyValues("gds4j.checkpoints.llama.path=" + model)
                        .run(child -> {
                            assertThat(child.getBean(CuFileDriver.class)).isSameAs(parent.getBean(CuFileDriver.class));
                            assertThat(child.getBean("llama")).isSameAs(parent.getBean("llama"));
                        }));
    }

    @Test
    void missingCheckpointIsExplained() {
        application.withPropertyValues("gds4j.checkpoints.llama.path=" + folder.resolve("missing")).run(context -> {
            FailureAnalysis analysis = new GdsFailureAnalyzer().analyze(context.getStartupFailure());
            assertThat(analysis.getDescription()).contains("missing", "no such file");
            assertThat(analysis.getAction()).contains("gds check");
        });
    }

    @Test
    void missingNativeAccessIsExplained() {
        CuFileException refused = CuFileException.of(
                CuFileError.PLATFORM_NOT_SUPPORTED, "CuFileDriver.open", "native access is denied");
        assertThat(new GdsFailureAnalyzer().analyze(refused).getAction()).contains("Enable-Native-Access: ALL-UNNAMED");
    }

    @Test
    void metadataAndGuideDescribeEveryProperty() throws IOException {
        String metadata = Files.readString(Path.of("src/main/resources/META-INF/spring-configuration-metadata.json"));
        List<String> described = Pattern.compile("\"name\": \"(gds4j\\.[^\"]+)\"").matcher(metadata)
                .results()
                .map(name -> name.group(1))
                .toList();
        assertThat(described)
                .contains("gds4j.enabled", "gds4j.health.paths")
                .containsAll(Arrays.stream(GdsProperties.class.getRecordComponents())
                        .filter(property -> property.getType() != GdsProperties.Health.class)
                        .map(property -> "gds4j." + dashed(property.getName()))
                        .toList());
        String guide = Files.readString(Path.of("../docs/spring-boot.md"));
        assertThat(described).allSatisfy(name -> assertThat(guide).contains("| `" + name));
    }

    private static String dashed(String name) {
        return ConfigurationPropertyName.of(
                name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT)).toString();
    }
}
