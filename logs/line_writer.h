// Writes lines to a descriptor on its own thread, in the order in which they
// were added, so that a stalled reader blocks no other thread.
//
// Lines wait in a bounded queue. Once it is full, ordinary lines are dropped
// until half of it has been written; then a line says how many were dropped. A
// kept line is never dropped: if there is no room, Keep refuses it, and the
// caller must fail the operation that the line reports.
#ifndef KAMINO_LOGS_LINE_WRITER_H_
#define KAMINO_LOGS_LINE_WRITER_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "logs/line_queue.h"
#include "logs/lost_lines.h"
#include "logs/output.h"

namespace kamino::logs {

// How long the end of a process waits for the lines that are queued.
inline constexpr absl::Duration kLongestDrain = absl::Seconds(1);

// Thread-safe.
class LineWriter {
 public:
  struct Options {
    int file = -1;
    // Limits of the queue: for ordinary lines, and for all lines. Kept lines
    // can thus use room that ordinary lines cannot.
    size_t most_bytes = 1u << 20;
    size_t most_bytes_with_kept = (1u << 20) + (256u << 10);
    // How long AwaitWritten waits while the reader takes nothing, and in all.
    // The sum of an operator's waits must stay below a second.
    absl::Duration patience = absl::Milliseconds(300);
    absl::Duration longest_wait = absl::Milliseconds(600);
    // Makes the line that says how many were dropped, without its end. It must
    // not add lines.
    std::function<std::string(uint64_t dropped)> notice;
  };
  // A kept line, for AwaitWritten.
  using Receipt = LineQueue::Receipt;

  explicit LineWriter(Options options);
  // Discards the lines that are still queued.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // --- None of these waits for the reader. Lines have no end of line.

  // Queues the line, or drops and counts it.
  void Add(std::string line) ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues the line even if the queue is full, and ignores all later lines.
  // False: a last line was added before.
  bool AddLast(std::string line) ABSL_LOCKS_EXCLUDED(mutex_);
  // kFailedPrecondition: the queue is full, and the line is not in it.
  absl::StatusOr<std::shared_ptr<Receipt>> Keep(std::string line)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Lines dropped so far, and lines that could not be written.
  uint64_t dropped() const ABSL_LOCKS_EXCLUDED(mutex_);

  // --- These wait.

  // kFailedPrecondition: the reader takes nothing, or the write failed.
  absl::Status AwaitWritten(const Receipt& receipt) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for all queued lines in the same way. With an empty queue, waits
  // until the reader could take a line; if the last write failed, first writes
  // the line that says how many were lost.
  absl::Status AwaitWritten() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until all lines that are queued are written, but not for longer.
  bool Drain(absl::Duration longest) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- Async-signal-safe.

  bool IsWriting() const { return waiting_.load() > 0; }
  // Whether this is the thread that writes.
  bool IsOwnThread() const { return thread_id_.load() == gettid(); }
  const Output& output() const { return output_; }

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Push(LineQueue::Line line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushNotice() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // 0, or the errno.
  int Write(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish(const LineQueue::Line& line, int error)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteProgress() ABSL_LOCKS_EXCLUDED(mutex_);
  bool AwaitNumber(uint64_t number, absl::Duration patience,
                   absl::Duration longest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NotTaken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NotWritten(int error) const;

  const Options options_;
  const Output output_;
  std::atomic<pid_t> thread_id_{0};
  // Lines added and not yet written.
  std::atomic<uint64_t> waiting_{0};

  // Only the thread uses it: the rest of a partly written line.
  bool half_ = false;

  mutable absl::Mutex mutex_;
  LineQueue queue_ ABSL_GUARDED_BY(mutex_);
  LostLines lost_ ABSL_GUARDED_BY(mutex_);
  absl::Time progress_ ABSL_GUARDED_BY(mutex_);
  int last_error_ ABSL_GUARDED_BY(mutex_) = 0;  // errno of the last write
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stops_{false};

  std::thread thread_;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LINE_WRITER_H_
