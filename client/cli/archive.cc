#include "client/cli/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {

absl::StatusOr<std::unique_ptr<Archive>> Archive::Create(
    const std::string& path) {
  const bool output = path == "-";
  const int file = output ? dup(STDOUT_FILENO)
                          : open(path.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  }
  auto made = absl::WrapUnique(new Archive(path, file));
  // What the file system says that the time is.
  struct stat info = {};
  if (!output && fstat(file, &info) == 0) made->made_ = info.st_mtime;
  made->writer_ = archive_write_new();
  if (made->writer_ == nullptr) {
    return absl::ResourceExhaustedError("no memory for an archive");
  }
  if (archive_write_set_format_pax_restricted(made->writer_) != ARCHIVE_OK ||
      archive_write_add_filter_gzip(made->writer_) != ARCHIVE_OK ||
      archive_write_open_fd(made->writer_, file) != ARCHIVE_OK) {
    return made->Failed();
  }
  return made;
}

Archive::~Archive() {
  if (writer_ != nullptr) archive_write_free(writer_);
  close(file_);
}

absl::Status Archive::Failed() const {
  const char* why = archive_error_string(writer_);
  return absl::UnavailableError(absl::StrCat("cannot write ", path_, ": ",
                                             why == nullptr ? "unknown" : why));
}

absl::Status Archive::Add(const std::string& name, absl::string_view bytes) {
  struct archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_size(entry, static_cast<int64_t>(bytes.size()));
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0600);
  archive_entry_set_mtime(entry, made_, 0);
  const bool begun = archive_write_header(writer_, entry) == ARCHIVE_OK;
  archive_entry_free(entry);
  if (!begun || archive_write_data(writer_, bytes.data(), bytes.size()) !=
                    static_cast<la_ssize_t>(bytes.size())) {
    return Failed();
  }
  return absl::OkStatus();
}

absl::Status Archive::Finish() {
  if (archive_write_close(writer_) != ARCHIVE_OK) return Failed();
  return absl::OkStatus();
}

}  // namespace kamino::client
