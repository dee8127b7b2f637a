package io.gds4j.loader.parallel;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Patterns of rules by their components, from the last one on: a name leads to its rules without a look at all others. Names and
 * patterns come from strangers, so a budget bounds the steps: components with a star are compared one by one.
 */
final class RuleTree {
    /** Steps for every plan: about a second. */
    private static final long FREE_STEPS = 500_000_000;
    /** Steps that each character of a name adds, so that the time stays linear in the size of the header. */
    static final long STEPS_PER_CHARACTER = 100;

    /** The end of a pattern. */
    private static final class Node {
        private final Map<String, Node> literals = new HashMap<>();
        private final Map<String, Node> globs = new HashMap<>();
        /** Numbers of the rules whose pattern begins here. */
        private final List<Integer> rules = new ArrayList<>(1);
    }

    private final Node root = new Node();
    private long steps;

    RuleTree(List<ParallelRule> rules) {
        this(rules, FREE_STEPS);
    }

    RuleTree(List<ParallelRule> rules, long freeSteps) {
        steps = freeSteps;
        for (int i = 0; i < rules.size(); i++) {
            Node node = root;
            String[] components = rules.get(i).pattern().split("\\.", -1);
            for (int k = components.length - 1; k >= 0; k--) {
                Map<String, Node> next = components[k].indexOf('*') < 0 ? node.literals : node.globs;
                node = next.computeIfAbsent(components[k], component -> new Node());
            }
            node.rules.add(i);
        }
    }

    /** Adds the numbers of all rules that apply to the tensor of this name; false if the budget is spent. */
    boolean find(String tensor, BitSet found) {
        steps += STEPS_PER_CHARACTER * tensor.length();
        descend(root, tensor, tensor.length(), found);
        descend(root, tensor, tensor.lastIndexOf('.'), found);
        return steps >= 0;
    }

    /** Follows the components of the name that end before {@code end}. Patterns bound the depth. */
    private void descend(@Nullable Node node, String name, int end, BitSet found) {
        if (node == null || !take(1)) {
            return;
        }
        node.rules.forEach(found::set);
        if (end < 0) {
            return;
        }
        int start = name.lastIndexOf('.', end - 1) + 1;
        String component = name.substring(start, end);
        if (take(component.length())) {
            descend(node.literals.get(component), name, start - 1, found);
        }
        node.globs.forEach((glob, next) -> {
            if (take((long) glob.length() * (component.length() + 1))
                    && ParallelRule.matches(component, 0, component.length(), glob, 0, glob.length())) {
                descend(next, name, start - 1, found);
            }
        });
    }

    /** Takes steps from the budget; false if there are too few. */
    private boolean take(long count) {
        steps -= count;
        return steps >= 0;
    }
}
