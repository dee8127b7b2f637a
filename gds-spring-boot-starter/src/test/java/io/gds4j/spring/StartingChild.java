package io.gds4j.spring;

import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** An application that loads a checkpoint from the URI that is its argument. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class StartingChild {
    public static void main(String[] arguments) {
        SpringApplication application = new SpringApplication(StartingChild.class);
        application.setBannerMode(Banner.Mode.OFF);
        application.run("--gds4j.backend=compat", "--gds4j.checkpoints.llama.path=" + arguments[0]);
    }
}
