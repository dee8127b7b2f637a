package io.gds4j.ffi.cufile;

/**
 * What the library does itself because the program asked for it by a system property; else gds4j does it.
 *
 * @param streams it keeps the order of streams
 * @param statistics it counts
 */
record LibraryDuties(boolean streams, boolean statistics) {
    /** System property: {@code library} for streams whose order libcufile keeps itself. */
    static final String STREAMS_PROPERTY = "gds4j.libcufile.streams";
    /** System property: {@code library} for statistics that libcufile counts itself. */
    static final String STATISTICS_PROPERTY = "gds4j.libcufile.statistics";

    static final LibraryDuties NONE = new LibraryDuties(false, false);

    private static final String LIBRARY = "library";

    /** Those of this process. */
    static LibraryDuties asked() {
        return new LibraryDuties(
                LIBRARY.equals(System.getProperty(STREAMS_PROPERTY)),
                LIBRARY.equals(System.getProperty(STATISTICS_PROPERTY)));
    }
}
