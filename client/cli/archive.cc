#include "client/cli/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {

absl::StatusOr<std::unique_ptr<Archive>> Archive::Create(
    const std::string& path) {
  ASSIGN_OR_RETURN(auto file, NewFile::Create(path, Existing::kStays));
  auto made = absl::WrapUnique(new Archive(std::move(file)));
  made->writer_ = archive_write_new();
  if (made->writer_ == nullptr) {
    return absl::ResourceExhaustedError("no memory for an archive");
  }
  const auto write = [](struct archive* writer, void* self, const void* bytes,
                        size_t length) -> la_ssize_t {
    auto* const of = static_cast<Archive*>(self);
    of->written_ = of->file_->Write(
        absl::string_view(static_cast<const char*>(bytes), length));
    if (of->written_.ok()) return static_cast<la_ssize_t>(length);
    archive_set_error(writer, EIO, "%s", of->written_.ToString().c_str());
    return -1;
  };
  if (archive_write_set_format_pax_restricted(made->writer_) != ARCHIVE_OK ||
      archive_write_add_filter_gzip(made->writer_) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(made->writer_, 1) != ARCHIVE_OK ||
      archive_write_open2(made->writer_, made.get(), /*open=*/nullptr, write,
                          /*close=*/nullptr, /*free=*/nullptr) != ARCHIVE_OK) {
    return made->Failed();
  }
  return made;
}

Archive::~Archive() {
  if (writer_ != nullptr) archive_write_free(writer_);
}

absl::Status Archive::Failed() const {
  RETURN_IF_ERROR(written_);
  const char* why = archive_error_string(writer_);
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot write ", file_->path(), ": ", why == nullptr ? "unknown" : why));
}

absl::Status Archive::Add(const std::string& name, absl::string_view bytes) {
  struct archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, name.c_str());
  archive_entry_set_size(entry, static_cast<int64_t>(bytes.size()));
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0600);
  archive_entry_set_mtime(entry, file_->made(), 0);
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
  return file_->Publish();
}

}  // namespace kamino::client
