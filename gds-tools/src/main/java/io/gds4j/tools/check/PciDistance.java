package io.gds4j.tools.check;

/** The distance between two PCI devices, shortest first, with nvidia-smi's symbols. */
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

    /** nvidia-smi's symbol. */
    String symbol() {
        return symbol;
    }

    /** What lies between the devices, in words. */
    String words() {
        return words;
    }
}
