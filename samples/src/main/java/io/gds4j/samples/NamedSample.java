package io.gds4j.samples;

import java.util.List;

/**
 * An entry of the registry {@link Samples}.
 *
 * @param name the name for {@code gds sample}
 * @param summary what the sample shows, in a few words
 * @param topics numbers of the cuFile topics in samples/README.md that it covers; may be empty
 * @param program the class with the source
 * @param sample runs the program
 */
public record NamedSample(String name, String summary, List<Integer> topics, Class<?> program, Sample sample) {
    /** Copies the list. */
    public NamedSample {
        topics = List.copyOf(topics);
    }
}
