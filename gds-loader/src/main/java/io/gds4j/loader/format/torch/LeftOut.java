package io.gds4j.loader.format.torch;

import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a pickle describes and a load leaves out: tensors without names, and what calls of the pickle would make. */
final class LeftOut {
    /**
     * A place in the value of a pickle: the keys on the way to it. Names are joined only where they are used.
     *
     * @param length characters of the name
     */
    record Place(@Nullable Place parent, String key, int length) {

        static final Place ROOT = new Place(null, "", 0);

        Place child(String key) {
            return new Place(this, key, length == 0 ? key.length() : length + 1 + key.length());
        }

        /** Returns the keys with dots between them. */
        String name() {
            List<String> keys = new ArrayList<>();
            for (Place place = this; place.parent != null; place = place.parent) {
                keys.add(place.key);
            }
            Collections.reverse(keys);
            // an empty key at the top has no dot behind it
            while (!keys.isEmpty() && keys.getFirst().isEmpty()) {
                keys.removeFirst();
            }
            return String.join(".", keys);
        }

        @Override
        public String toString() {
            return this == ROOT ? "the top" : CheckpointException.quote(name());
        }
    }

    /**
     * What contains tensors and has no names for them.
     *
     * @param what such as {@code an object of 'm.Net'}
     */
    record Container(Place place, String what) {
    }

    /** A tensor without a name. */
    record Hidden(Container container, long offset) {
    }

    private static final int MAX_NOTES = 5;

    private final Map<PickleValue, Hidden> tensors = new IdentityHashMap<>();
    private final List<PickleValue> order = new ArrayList<>();
    private final Map<String, Place> objects = new LinkedHashMap<>();
    private final Map<String, Integer> objectCounts = new HashMap<>();
    private final List<String> notes = new ArrayList<>();
    private int moreNotes;

    /** Adds a tensor that has no name. */
    void tensor(PickleValue tensor, Container container, long offset) {
        if (tensors.putIfAbsent(tensor, new Hidden(container, offset)) == null) {
            order.add(tensor);
        }
    }

    /** Adds an object that a call of the pickle would make. */
    void object(String what, Place place) {
        objects.putIfAbsent(what, place);
        objectCounts.merge(what, 1, Integer::sum);
    }

    /** Adds another finding of one line. */
    void note(String line) {
        if (notes.size() < MAX_NOTES) {
            notes.add(line);
        } else {
            moreNotes++;
        }
    }

    /** Returns the first tensor that none of these is. */
    Optional<Hidden> firstTensor(Set<PickleValue> named) {
        return order.stream().filter(tensor -> !named.contains(tensor)).map(tensors::get).findFirst();
    }

    /** Returns what was left out, one line each, without the tensors that have names elsewhere. */
    List<String> warnings(Set<PickleValue> named) {
        List<String> warnings = new ArrayList<>();
        Map<Container, Integer> counts = new IdentityHashMap<>();
        List<Container> containers = new ArrayList<>();
        int count = 0;
        for (PickleValue tensor : order) {
            if (!named.contains(tensor)) {
                Container container = tensors.get(tensor).container;
                if (counts.merge(container, 1, Integer::sum) == 1) {
                    containers.add(container);
                }
                count++;
            }
        }
        if (count > 0) {
            warnings.add("%s not loaded, because the content of these has no names: %s".formatted(
                    count == 1 ? "1 tensor is" : count + " tensors are",
                    InertText.list(containers.stream()
                            .map(container -> "%s at %s (%s)"
                                    .formatted(container.what, container.place, counts.get(container)))
                            .toList())));
        }
        if (!objects.isEmpty()) {
            warnings.add(
                    "not read, because calls of a pickle are never run: " + InertText.list(objects.entrySet().stream()
                            .map(object -> "%s at %s (%s)"
                                    .formatted(object.getKey(), object.getValue(), objectCounts.get(object.getKey())))
                            .toList()));
        }
        warnings.addAll(notes);
        if (moreNotes > 0) {
            warnings.add("%s more findings of these kinds".formatted(moreNotes));
        }
        return warnings;
    }
}
