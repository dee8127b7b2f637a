package io.gds4j.spring;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryKind;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.HierarchicalBeanFactory;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.UnboundElementsSourceFilter;
import org.springframework.core.env.Environment;

/** Defines a bean of type LoadedTensors for each {@code gds4j.checkpoints.NAME}. */
final class CheckpointBeans implements BeanDefinitionRegistryPostProcessor {
    /** Name of the bean that is made before checkpoints are loaded, if there is one. */
    static final String BEFORE = "gdsMetrics";

    private static final System.Logger LOGGER = System.getLogger("io.gds4j.spring");
    private static final Pattern GPU = Pattern.compile("gpu:(\\d{1,4})");

    private final Environment environment;

    CheckpointBeans(Environment environment) {
        this.environment = environment;
    }

    @Override
    public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
        // Unknown properties fail: a name with a dot, which needs brackets, would otherwise name no checkpoint at all.
        BindHandler handler = new NoUnboundElementsBindHandler(BindHandler.DEFAULT, new UnboundElementsSourceFilter());
        Binder.get(environment)
                .bind("gds4j.checkpoints", Bindable.mapOf(String.class, GdsProperties.Checkpoint.class), handler)
                .orElse(Map.of())
                .forEach((name, checkpoint) -> {
                    if (!hasParentOf(registry, name)) {
                        registry.registerBeanDefinition(name, definition((BeanFactory) registry, name, checkpoint));
                    }
                });
    }

    /** Returns whether a parent context has the bean, as it may have the driver: a checkpoint is loaded once. */
    private static boolean hasParentOf(BeanDefinitionRegistry registry, String name) {
        return registry instanceof HierarchicalBeanFactory own && own.getParentBeanFactory() != null
                && own.getParentBeanFactory().containsBean(name);
    }

    private static BeanDefinition definition(BeanFactory beans, String name, GdsProperties.Checkpoint checkpoint) {
        AbstractBeanDefinition bean = BeanDefinitionBuilder
                .genericBeanDefinition(LoadedTensors.class, () -> untilExit(() -> load(beans, name, checkpoint)))
                .getBeanDefinition();
        bean.setResourceDescription("gds4j.checkpoints." + name);
        // A program processed ahead of time defines it when it starts, by this class.
        bean.setAttribute(BeanRegistrationAotProcessor.IGNORE_REGISTRATION_ATTRIBUTE, true);
        return bean;
    }

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
        // all is done in the registry
    }

    /** Loads until the process is told to end: Spring closes no context that is being made, and a load may take minutes. */
    private static LoadedTensors untilExit(Supplier<LoadedTensors> load) {
        Thread loading = Thread.currentThread();
        Thread hook = new Thread(loading::interrupt, "gds4j-spring-exit");
        Runtime.getRuntime().addShutdownHook(hook);
        try {
            return load.get();
        } finally {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                LOGGER.log(System.Logger.Level.DEBUG, "the process ends", e);
            }
        }
    }

    private static LoadedTensors load(BeanFactory beans, String name, GdsProperties.Checkpoint checkpoint) {
        String property = "gds4j.checkpoints." + name;
        String path = checkpoint.path();
        if (path.isEmpty()) {
            throw CuFileException.invalid(property + ".path", "not set, allowed: a file, a folder, an index or a URI");
        }
        CuFileDriver driver = beans.getBean(CuFileDriver.class);
        if (beans.containsBean(BEFORE)) {
            beans.getBean(BEFORE);
        }
        Checkpoint opened = GdsProperties.isUri(path)
                ? Checkpoint.open(uri(property + ".path", path))
                : Checkpoint.open(GdsProperties.pathOf(property + ".path", path));
        LoadPlan plan = placed(opened.plan(), driver, property + ".target", checkpoint.target());
        return (checkpoint.include().isEmpty() ? plan : plan.include(checkpoint.include())).load(driver);
    }

    private static URI uri(String property, String value) {
        try {
            return new URI(value);
        } catch (URISyntaxException e) {
            // The message of the cause has the whole URI, with its passwords.
            throw CuFileException.invalid(property, "no URI: %s at index %s".formatted(e.getReason(), e.getIndex()));
        }
    }

    private static LoadPlan placed(LoadPlan plan, CuFileDriver driver, String property, String target) {
        Matcher gpu = GPU.matcher(target);
        if (gpu.matches()) {
            return plan.toGpu(Integer.parseInt(gpu.group(1)));
        }
        return switch (target) {
            case "best" -> plan.toBest(driver);
            case "host" -> plan.to(MemoryKind.HOST);
            default -> throw CuFileException.invalid(property, target + ", allowed: best, host, gpu:N");
        };
    }
}
