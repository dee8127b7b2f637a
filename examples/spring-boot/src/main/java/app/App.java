package app;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;
import java.util.Map;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** Prints what the starter made of application.properties. A service would keep running. */
@SpringBootApplication
public class App {
    public static void main(String[] args) {
        Checkpoint.save(Path.of("model.safetensors"), Map.of("weight", new float[]{1, 2, 3}));
        SpringApplication.run(App.class, args).close();
    }

    @Bean
    CommandLineRunner show(LoadedTensors llama, HealthIndicator gds4jHealthIndicator) {
        return arguments -> System.out.println("loaded " + llama.get("weight").name() + " "
                + llama.get("weight").shape() + ", health " + gds4jHealthIndicator.health().getStatus());
    }
}
