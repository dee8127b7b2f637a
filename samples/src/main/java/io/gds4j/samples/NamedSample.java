package io.gds4j.samples;

import java.util.List;

/**
 * A sample and what it is about.
 *
 * @param name as {@code gds sample} takes it
 * @param summary what it shows, in a few words
 * @param topics numbers of cuFile's topics that it covers, as samples/README.md lists them; empty for what is no topic there
 * @param program the class whose source to read
 * @param sample runs it
 */
public record NamedSample(String name, String summary, List<Integer> topics, Class<?> program, Sample sample) {
    /** Copies the list. */
    public NamedSample {
        topics = List.copyOf(topics);
    }
}
