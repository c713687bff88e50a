// The format of REWIND's log, and the upgrade of one of release 0.1.0 to
// today's (lab/docs/rewind_log.md, "Formats").
#ifndef KAMINO_LAB_REWIND_LOG_FORMAT_H_
#define KAMINO_LAB_REWIND_LOG_FORMAT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/sequence_mark.h"

namespace kamino::engine {

rewind_format::LogHeader* LogHeaderOf(const Heap& heap);

// How the log's words that change in place are written.
CheckedWords WordsOf(const Heap& heap, rewind_format::LogFormat format);

// Where a log of that format has its list, and its marks.
rewind_format::ListState* ListOf(const Heap& heap,
                                 rewind_format::LogFormat format);
rewind_format::Marks* MarksOf(const Heap& heap,
                              rewind_format::LogFormat format);

// kPlain: also a new heap's, whose log is all 0. kChecked: FinishChecked comes
// before anything else. kFailedPrecondition: it is of a later release;
// kDataLoss: damaged.
absl::StatusOr<rewind_format::LogFormat> LogFormatOf(const Heap& heap);

// Makes an empty log of kPlain one of kChecked, durably, but for FinishChecked;
// after a crash on the way it is either.
void BeginChecked(Heap* heap, uint64_t last_sequence);

// The mark of a log of that format; its heap must outlive it.
SequenceMark SequenceMarkOf(const Heap& heap, rewind_format::LogFormat format);

// Durably says of what format the log is. Programs of release 0.1.0, which do
// not look at that, find damage in the log from here on.
void FinishChecked(Heap* heap);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_LOG_FORMAT_H_
