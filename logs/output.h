// A descriptor that other processes may share (stderr). Writes do not wait for
// its reader, and its flags stay as inherited.
#ifndef KAMINO_LOGS_OUTPUT_H_
#define KAMINO_LOGS_OUTPUT_H_

#include <sys/types.h>

#include <cstddef>

namespace kamino::logs {

// Every method, the constructor too, is async-signal-safe. Thread-safe.
class Output {
 public:
  explicit Output(int file);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Whether a Write would write, or fail, within `wait_ms`.
  bool AwaitRoom(int wait_ms) const;

  // As write(2), of `size` bytes or fewer. EAGAIN: the reader takes none now.
  ssize_t Write(const char* bytes, size_t size) const;

 private:
  enum class Kind { kPipe, kSocket, kFile, kOther };

  Kind kind_ = Kind::kOther;
  // For a pipe, a non-blocking open file description that no other process
  // shares. For anything else, or if the pipe cannot be opened again, the
  // constructor's descriptor.
  int file_;
  bool own_ = false;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_OUTPUT_H_
