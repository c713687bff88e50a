#include "client/cli/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iostream>

namespace kamino::client {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

StandardOutput::StandardOutput()
    : before_(std::cout.rdbuf()),
      is_terminal_(isatty(STDOUT_FILENO) == 1),
      buffer_(kBufferBytes) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  std::cout.rdbuf(this);
}

StandardOutput::~StandardOutput() {
  WriteOut();
  std::cout.rdbuf(before_);
}

bool StandardOutput::WriteOut() {
  for (const char* next = pbase(); next < pptr() && error_ == 0;) {
    const ssize_t written =
        write(STDOUT_FILENO, next, static_cast<size_t>(pptr() - next));
    if (written >= 0) {
      next += written;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

StandardOutput::int_type StandardOutput::overflow(int_type byte) {
  if (!WriteOut()) return traits_type::eof();
  if (traits_type::eq_int_type(byte, traits_type::eof())) {
    return traits_type::not_eof(byte);
  }
  return sputc(traits_type::to_char_type(byte));
}

std::streamsize StandardOutput::xsputn(const char* bytes,
                                       std::streamsize count) {
  const std::streamsize put = std::streambuf::xsputn(bytes, count);
  if (is_terminal_ && !WriteOut()) return 0;
  return put;
}

int StandardOutput::sync() { return WriteOut() ? 0 : -1; }

}  // namespace kamino::client
