/**
 * All that most programs need: the API, the loader of checkpoints and both backends. It has no classes of its own. A program that
 * requires this module also gets the backends into an image made by jlink, which binds no services by itself.
 *
 * @since 0.1
 */
module io.gds4j.all {
    requires transitive io.gds4j;
    requires transitive io.gds4j.loader;
    requires io.gds4j.compat;
    requires io.gds4j.libcufile;
}
