package io.gds4j.spring;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.interop.metrics.GdsMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * A driver, a bean for each checkpoint, health and metrics. {@code gds4j.enabled=false} leaves all of them out; a bean of the
 * application takes the place of one with its type.
 *
 * @since 0.1
 */
@AutoConfiguration(
        afterName = "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnProperty(name = "gds4j.enabled", matchIfMissing = true)
@EnableConfigurationProperties(GdsProperties.class)
public class GdsAutoConfiguration {
    private static final System.Logger LOGGER = System.getLogger("io.gds4j.spring");

    /** Called by Spring. */
    public GdsAutoConfiguration() {
        if (!CuFileDriver.class.getModule().isNativeAccessEnabled()) {
            LOGGER.log(System.Logger.Level.WARNING,
                    "native access is not enabled: add Enable-Native-Access: ALL-UNNAMED to the manifest of the application's jar,"
                            + " or start java with --enable-native-access=ALL-UNNAMED");
        }
    }

    /**
     * Opens the driver of the application. Spring closes it.
     *
     * @param properties what the application sets
     * @return the driver
     */
    @Bean
    @ConditionalOnMissingBean
    public CuFileDriver cuFileDriver(GdsProperties properties) {
        CuFileConfig found = properties.cufileJson().isEmpty()
                ? CuFileConfig.load()
                : CuFileConfig.load(GdsProperties.pathOf("gds4j.cufile-json", properties.cufileJson()));
        CuFileConfig config = found.toBuilder().directStorage(properties.directStorage()).build();
        return properties.backend().equals("auto")
                ? CuFileDriver.open(config)
                : CuFileDriver.open(config, properties.backend());
    }

    /**
     * Adds a bean for each checkpoint.
     *
     * @param environment the properties, which no bean has bound yet
     * @return what adds the beans
     */
    @Bean
    public static CheckpointBeans gdsCheckpoints(Environment environment) {
        return new CheckpointBeans(environment);
    }

    /** Meters, if the application has Micrometer. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    static class Metrics {
        /** Binds before the checkpoints are loaded, so that the meters count these loads. */
        @Bean(CheckpointBeans.BEFORE)
        @ConditionalOnMissingBean
        GdsMetrics gdsMetrics(CuFileDriver driver, ObjectProvider<MeterRegistry> registries) {
            GdsMetrics metrics = new GdsMetrics(driver);
            // A composite hands on what it records: its parts would count it twice.
            Set<MeterRegistry> parts = registries.stream()
                    .filter(CompositeMeterRegistry.class::isInstance)
                    .flatMap(composite -> ((CompositeMeterRegistry) composite).getRegistries().stream())
                    .collect(Collectors.toSet());
            registries.stream().filter(registry -> !parts.contains(registry)).forEach(metrics::bindTo);
            return metrics;
        }
    }

    /** Health, if the application has Actuator. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    @ConditionalOnEnabledHealthIndicator("gds4j")
    static class Health {
        @Bean
        @ConditionalOnMissingBean(name = "gds4jHealthIndicator")
        GdsHealthIndicator gds4jHealthIndicator(CuFileDriver driver, GdsProperties properties) {
            return new GdsHealthIndicator(driver, properties);
        }
    }
}
