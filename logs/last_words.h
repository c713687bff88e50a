// What a process says that does not end by itself: by a signal, by an exception
// that nobody catches, for want of memory.
#ifndef KAMINO_LOGS_LAST_WORDS_H_
#define KAMINO_LOGS_LAST_WORDS_H_

#include <cstddef>
#include <string>

#include "logs/line.h"
#include "logs/line_writer.h"

namespace kamino::logs {

// From now on the last line on stderr says which signal ends the process, and
// the one before where it was. Signals do what they did besides: a fault leaves
// a core where that is wanted. Those that the process ignores or has handlers
// for are left alone. `writer` has the lines before; it outlives the process's
// other threads.
void ExpectLastWords(const Origin& origin, bool json, const LineWriter* writer);

// Writes a line as the last one, from a signal handler, too: it allocates
// nothing, and takes no lock. `why` may end with a newline. Not if the last
// line was written already. It takes kLongestDrain at most.
void WriteLastWords(const char* why);

// The thread that calls it has added the last line to the writer's queue, and
// waits until it is written: others that end the process wait as well.
void ClaimLastWords();

// The last line was written, or cannot be.
void NoteLastWords();

// Writes to stderr from a signal handler, behind the lines that are queued. All
// calls together wait kLongestDrain at most for the reader of stderr; then the
// bytes are lost.
void WriteAtEnd(const char* bytes, size_t size);

// The functions that this thread is in, innermost first.
std::string CurrentStack();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LAST_WORDS_H_
