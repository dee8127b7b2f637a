package io.gds4j.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Which executors hold which models. The driver's plugin keeps it; executors tell what they load and free. Thread-safe. */
final class ModelPlaces {
    /**
     * What an executor tells.
     *
     * @param plan as of {@link ModelPlan#content}
     * @param device ordinal of the GPU, or {@link io.gds4j.memory.MemoryRange#NO_DEVICE}
     * @param isHeld false if the executor no longer holds the model
     */
    record Change(String executor, String host, String path, ModelPlan plan, int device, boolean isHeld)
            implements
                Serializable {
    }

    private record Key(String path, ModelPlan plan) {
    }

    private static @Nullable ModelPlaces current;

    /** For each model, the devices of the executors that hold it. */
    private final Map<Key, Map<String, Set<Integer>>> holders = new HashMap<>();
    private final Map<String, String> hosts = new HashMap<>();

    /** Makes these the places of this process's driver; null when the driver ends. */
    static synchronized void set(@Nullable ModelPlaces places) {
        current = places;
    }

    /** Returns the places of this process's driver. */
    static synchronized Optional<ModelPlaces> current() {
        return Optional.ofNullable(current);
    }

    synchronized void note(Change change) {
        Key key = new Key(change.path(), change.plan());
        hosts.put(change.executor(), change.host());
        if (change.isHeld()) {
            holders.computeIfAbsent(key, added -> new LinkedHashMap<>())
                    .computeIfAbsent(change.executor(), added -> new HashSet<>())
                    .add(change.device());
            return;
        }
        holders.computeIfPresent(key, (same, known) -> {
            known.computeIfPresent(change.executor(), (executor, devices) -> {
                devices.remove(change.device());
                return devices.isEmpty() ? null : devices;
            });
            return known.isEmpty() ? null : known;
        });
    }

    /** Forgets an executor that has ended. */
    synchronized void forget(String executor) {
        hosts.remove(executor);
        holders.values().forEach(known -> known.remove(executor));
        holders.values().removeIf(Map::isEmpty);
    }

    /**
     * Gives each rank an executor that holds its model, and no executor more ranks than it has slots.
     *
     * @param plans the model of each rank
     * @param slots tasks that an executor runs at the same time
     * @return for each rank a location in Spark's notation, or none
     */
    synchronized List<List<String>> prefer(String path, List<ModelPlan> plans, int slots) {
        List<Set<String>> known = plans.stream()
                .map(plan -> holders.getOrDefault(new Key(path, plan.content()), Map.of()).keySet())
                .toList();
        List<List<String>> places = new ArrayList<>(plans.stream().map(plan -> List.<String>of()).toList());
        Map<String, Integer> taken = new HashMap<>();
        // Ranks with the smallest choice come first.
        IntStream.range(0, plans.size()).boxed().sorted(Comparator.comparing(rank -> known.get(rank).size()))
                .forEach(rank -> known.get(rank)
                        .stream()
                        .filter(executor -> taken.getOrDefault(executor, 0) < slots)
                        .findFirst()
                        .ifPresent(executor -> {
                            taken.merge(executor, 1, Integer::sum);
                            places.set(rank, List.of("executor_%s_%s".formatted(hosts.get(executor), executor)));
                        }));
        return places;
    }
}
