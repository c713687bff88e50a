// What a process says that does not end by itself: by a signal, by an exception
// that nobody catches, for want of memory.
#ifndef KAMINO_LOGS_LAST_WORDS_H_
#define KAMINO_LOGS_LAST_WORDS_H_

#include <string>

#include "logs/line.h"

namespace kamino::logs {

// From now on the last line on stderr says which signal ends the process, and
// the one before where it was. Signals do what they did besides: a fault leaves
// a core where that is wanted. Those that the process ignores or has handlers
// for are left alone.
void ExpectLastWords(const Origin& origin, bool json);

// Writes a line as the last one, from a signal handler, too: it allocates
// nothing, and takes no lock. `why` may end with a newline. Not if the last
// line was written already.
void WriteLastWords(const char* why);

// The last line was written by somebody else.
void NoteLastWords();

// The functions that this thread is in, innermost first.
std::string CurrentStack();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LAST_WORDS_H_
