#include "lab/rewind/log_format.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/log_seed.h"
#include "lab/rewind/linked_list.h"

namespace kamino::engine {

using rewind_format::LogFormat;
using rewind_format::LogHeader;

namespace {

// Values of the plain list's first-node field in a log of kChecked: no unit
// begins at these offsets. kBecoming: the log is empty, and `format` may not be
// written yet. kShut: `format` is written; a header without it has lost a line.
constexpr uint64_t kBecoming = 2;
constexpr uint64_t kShut = 1;

absl::Status Lost() {
  return absl::DataLossError(
      "the log is damaged: the two lines of its header are not of one log");
}

void PutPlainHead(Heap* heap, uint64_t head) {
  uint64_t* const word = &LogHeaderOf(*heap)->plain_list.head;
  __atomic_store_n(word, head, __ATOMIC_RELAXED);
  heap->region()->Persist(word, sizeof(*word));
}

}  // namespace

LogHeader* LogHeaderOf(const Heap& heap) {
  return reinterpret_cast<LogHeader*>(heap.log_area().data());
}

CheckedWords WordsOf(const Heap& heap, LogFormat format) {
  return {heap.region(), LogSeed(heap.uuid()), format == LogFormat::kChecked};
}

rewind_format::ListState* ListOf(const Heap& heap, LogFormat format) {
  LogHeader* const header = LogHeaderOf(heap);
  return format == LogFormat::kPlain ? &header->plain_list : &header->list;
}

rewind_format::Marks* MarksOf(const Heap& heap, LogFormat format) {
  LogHeader* const header = LogHeaderOf(heap);
  return format == LogFormat::kPlain ? &header->plain_marks : &header->marks;
}

absl::StatusOr<LogFormat> LogFormatOf(const Heap& heap) {
  const LogHeader& header = *LogHeaderOf(heap);
  const uint64_t head = header.plain_list.head;
  if (header.format == 0) {
    if (head == kShut) return Lost();
    return head == kBecoming ? LogFormat::kChecked : LogFormat::kPlain;
  }
  ASSIGN_OR_RETURN(const uint64_t format,
                   WordsOf(heap, LogFormat::kChecked).Read(&header.format));
  if (format != static_cast<uint64_t>(LogFormat::kChecked)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log is of format ", format, "; this program knows ",
                     static_cast<uint64_t>(LogFormat::kPlain), " and ",
                     static_cast<uint64_t>(LogFormat::kChecked)));
  }
  if (head != kBecoming && head != kShut) return Lost();
  return LogFormat::kChecked;
}

SequenceMark SequenceMarkOf(const Heap& heap, LogFormat format) {
  LogHeader* const header = LogHeaderOf(heap);
  const CheckedWords words = WordsOf(heap, format);
  if (format == LogFormat::kPlain) {
    return {words, &header->plain_marks.last_sequence, nullptr};
  }
  return {words, &header->marks.last_sequence, &header->sequence_high};
}

void BeginChecked(Heap* heap, uint64_t last_sequence) {
  LogHeader* const header = LogHeaderOf(*heap);
  const CheckedWords words = WordsOf(*heap, LogFormat::kChecked);
  LinkedList::Create(words, &header->list);
  for (uint64_t* word : {&header->marks.floor, &header->marks.last_sequence,
                         &header->marks.root, &header->sequence_high}) {
    words.Store(word, 0);
  }
  SequenceMarkOf(*heap, LogFormat::kChecked).Store(last_sequence);
  heap->region()->Persist(header, sizeof(*header));
  PutPlainHead(heap, kBecoming);
}

void FinishChecked(Heap* heap) {
  LogHeader* const header = LogHeaderOf(*heap);
  if (header->plain_list.head == kShut) return;
  WordsOf(*heap, LogFormat::kChecked)
      .Persist(&header->format, static_cast<uint64_t>(LogFormat::kChecked));
  PutPlainHead(heap, kShut);
}

}  // namespace kamino::engine
