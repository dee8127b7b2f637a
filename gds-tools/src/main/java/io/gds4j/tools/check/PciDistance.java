package io.gds4j.tools.check;

/** What lies between two PCI devices, nearest first; nvidia-smi's words for it in the first place. */
enum PciDistance {
    /** One PCI switch. */
    ONE_SWITCH("PIX", "one PCI switch"),
    /** Several switches, no host bridge. */
    SEVERAL_SWITCHES("PXB", "several PCI switches"),
    /** A host bridge. */
    HOST_BRIDGE("PHB", "the host bridge"),
    /** Two host bridges of one NUMA node. */
    SAME_NODE("NODE", "two host bridges of one NUMA node"),
    /** The link between processors. */
    ACROSS_NODES("SYS", "the link between NUMA nodes");

    private final String symbol;
    private final String words;

    PciDistance(String symbol, String words) {
        this.symbol = symbol;
        this.words = words;
    }

    /** As nvidia-smi writes it. */
    String symbol() {
        return symbol;
    }

    /** In words. */
    String words() {
        return words;
    }
}
