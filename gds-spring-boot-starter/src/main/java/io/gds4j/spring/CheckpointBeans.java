package io.gds4j.spring;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryKind;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/** Defines a bean of type LoadedTensors for each {@code gds4j.checkpoints.NAME}. */
final class CheckpointBeans implements BeanDefinitionRegistryPostProcessor {
    /** Name of the bean that is made before checkpoints are loaded, if there is one. */
    static final String BEFORE = "gdsMetrics";

    private static final Pattern GPU = Pattern.compile("gpu:(\\d{1,4})");
    private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]+://.*");

    private final Environment environment;

    CheckpointBeans(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
        Binder.get(environment)
                .bind("gds4j.checkpoints", Bindable.mapOf(String.class, GdsProperties.Checkpoint.class))
                .orElse(Map.of())
                .forEach((name, checkpoint) -> registry.registerBeanDefinition(
                        name, BeanDefinitionBuilder.genericBeanDefinition(
                                LoadedTensors.class, () -> load((BeanFactory) registry, name, checkpoint))
                                .getBeanDefinition()));
    }

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
        // all is done in the registry
    }

    private static LoadedTensors load(BeanFactory beans, String name, GdsProperties.Checkpoint checkpoint) {
        if (checkpoint.path().isEmpty()) {
            throw new IllegalArgumentException(
                    "gds4j.checkpoints." + name + ".path is not set: a file, a folder, an index or a URI");
        }
        CuFileDriver driver = beans.getBean(CuFileDriver.class);
        if (beans.containsBean(BEFORE)) {
            beans.getBean(BEFORE);
        }
        Checkpoint opened = SCHEME.matcher(checkpoint.path()).matches()
                ? Checkpoint.open(URI.create(checkpoint.path()))
                : Checkpoint.open(Path.of(checkpoint.path()));
        LoadPlan plan = placed(opened.plan(), driver, name, checkpoint.target());
        return (checkpoint.include().isEmpty() ? plan : plan.include(checkpoint.include())).load(driver);
    }

    private static LoadPlan placed(LoadPlan plan, CuFileDriver driver, String name, String target) {
        Matcher gpu = GPU.matcher(target);
        if (gpu.matches()) {
            return plan.toGpu(Integer.parseInt(gpu.group(1)));
        }
        return switch (target) {
            case "best" -> plan.toBest(driver);
            case "host" -> plan.to(MemoryKind.HOST);
            default -> throw new IllegalArgumentException(
                    "gds4j.checkpoints." + name + ".target: " + target + ", allowed: best, host, gpu:N");
        };
    }
}
