package io.gds4j.ffi.cufile;

/**
 * What the library does itself because the program asked for it by a system property; else gds4j does it.
 *
 * @param statistics it counts
 */
record LibraryDuties(boolean statistics) {
    /** System property: {@code library} for statistics that libcufile counts itself. */
    static final String STATISTICS_PROPERTY = "gds4j.libcufile.statistics";

    static final LibraryDuties NONE = new LibraryDuties(false);

    private static final String LIBRARY = "library";

    /** Those of this process. */
    static LibraryDuties asked() {
        return new LibraryDuties(
                LIBRARY.equals(System.getProperty(STATISTICS_PROPERTY)));
    }
}
