// Shows progress on stderr.
#ifndef KAMINO_CLIENT_CLI_PROGRESS_H_
#define KAMINO_CLIENT_CLI_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace kamino::client {

// Not thread-safe.
class Progress {
 public:
  // Counts to `total` units. Redrawn on a terminal, not shown elsewhere.
  Progress(std::string what, uint64_t total);
  // Counts an unknown number of bytes. Redrawn on a terminal, not shown
  // elsewhere.
  static Progress OfBytes(std::string what);
  // Ends an unfinished line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(uint64_t done);

 private:
  Progress(std::string what, std::optional<uint64_t> total, bool terminal);
  void ShowOf(uint64_t total, uint64_t done);
  void ShowBytes(uint64_t done);

  const std::string what_;
  const std::optional<uint64_t> total_;
  const bool terminal_;
  const absl::Time begun_;
  absl::Time drawn_ = absl::InfinitePast();
  int shown_ = -1;        // percent
  bool is_ended_ = true;  // of the line on the terminal
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_PROGRESS_H_
