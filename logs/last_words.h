// The last log line of a process that a signal, an uncaught exception or a lack
// of memory ends.
#ifndef KAMINO_LOGS_LAST_WORDS_H_
#define KAMINO_LOGS_LAST_WORDS_H_

#include <cstddef>
#include <string>

#include "logs/line.h"
#include "logs/line_writer.h"

namespace kamino::logs {

// From now on, a fatal signal writes its name as the last line on stderr, after
// a line with the stack. Default actions still follow, for example a core dump.
// Signals that the process ignores or handles are left alone. Lines queued in
// `writer` come first; it must outlive all other threads.
void ExpectLastWords(const Origin& origin, bool json, const LineWriter* writer);

// Writes the last line, unless one was written before. Async-signal-safe: it
// neither allocates nor locks. `why` may end with a newline. Takes at most
// kLongestDrain.
void WriteLastWords(const char* why);

// Call after adding the last line to the writer's queue: other threads that end
// the process then wait until it is written.
void ClaimLastWords();

// The last line was written, or could not be.
void NoteLastWords();

// Writes to stderr from a signal handler, after the queued lines. All calls
// together wait at most kLongestDrain for the reader of stderr; after that the
// bytes are lost.
void WriteAtEnd(const char* bytes, size_t size);

// The stack of this thread, innermost function first.
std::string CurrentStack();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LAST_WORDS_H_
