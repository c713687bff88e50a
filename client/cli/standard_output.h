// Standard output that keeps the error of a failed write.
#ifndef KAMINO_CLIENT_CLI_STANDARD_OUTPUT_H_
#define KAMINO_CLIENT_CLI_STANDARD_OUTPUT_H_

#include <ios>
#include <streambuf>
#include <vector>

namespace kamino::client {

// Replaces std::cout's own buffer, which loses the errno of a failed write. Not
// thread-safe.
class StandardOutput final : public std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  // The errno of the first write that failed; 0: none has.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

 private:
  // Writes the buffer. False: this write, or an earlier one, has failed.
  bool WriteOut();

  std::streambuf* const before_;
  const bool is_terminal_;  // which shows each piece at once
  std::vector<char> buffer_;
  int error_ = 0;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_STANDARD_OUTPUT_H_
