# Prints the survivors of PIT's report in XML, one a line, and adds a row to the table of packages. Reads first the list of equivalent mutants.

function field(tag,    from) {
    from = index($0, "<" tag ">")
    if (from == 0) return ""
    from += length(tag) + 2
    return substr($0, from, index($0, "</" tag ">") - from)
}

# The line of a source file, without the spaces around it.
function text(file, number,    line, i) {
    if (!(file in read)) {
        read[file] = 1
        while ((getline line < file) > 0) {
            gsub(/^[ \t]+|[ \t]+$/, "", line)
            lines[file, ++i] = line
        }
        close(file)
    }
    return lines[file, number]
}

function plain(words) {
    gsub(/&lt;/, "<", words)
    gsub(/&gt;/, ">", words)
    gsub(/&#?[a-z0-9]+;/, "'", words)
    return words
}

FNR == NR {
    if ($0 ~ /^[^# \t]/) {
        split($0, part, / \| /)
        equivalent[part[1] "|" part[2] "|" part[3]] = 1
    }
    next
}

/<mutation / {
    match($0, /status='[A-Z_]*'/)
    status = substr($0, RSTART + 8, RLENGTH - 9)
    if (status == "NON_VIABLE") next
    class = field("mutatedClass")
    mutator = field("mutator")
    sub(/.*\./, "", mutator)
    sub(/Mutator$/, "", mutator)
    name_of_file = field("sourceFile")
    folder = class
    sub(/\.[^.]*$/, "", folder)
    gsub(/\./, "/", folder)
    number = field("lineNumber")
    if (status == "KILLED") {
        killed++
        next
    }
    line = text(source "/" folder "/" name_of_file, number)
    if (equivalent[name_of_file "|" mutator "|" line]) {
        listed++
        next
    }
    count[status]++
    why = status == "SURVIVED" ? "" : status == "NO_COVERAGE" ? "no test: " : status == "TIMED_OUT" ? "timeout: " : "JVM died: "
    printf "%s:%s %s %s%s | %s\n", name_of_file, number, mutator, why, plain(field("description")), line
}

END {
    survived = count["SURVIVED"]
    none = count["NO_COVERAGE"]
    timeouts = count["TIMED_OUT"]
    died = -survived - none - timeouts
    for (status in count) died += count[status]
    sum = killed + survived + none + timeouts + died
    score = sum == 0 ? 0 : 100 * killed / sum
    printf "| %s | %d | %d | %d | %d | %d | %d | %d | %.1f %% | %d |\n", name, sum + listed, killed, survived, none, timeouts, died, listed, score, seconds >> table
    exit score < 90 ? 5 : 0
}
