// A node's regions as files of one folder:
//
//   heap.pmem    the objects and the intent log
//   ring.pmem    the log ring and the node's record
//   undo_copy.pmem  a head's undo copy, by which it rolls transactions back
#ifndef KAMINO_NODE_STORAGE_FILE_MEDIA_H_
#define KAMINO_NODE_STORAGE_FILE_MEDIA_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/pmem/file_region.h"
#include "node/storage/media.h"

namespace kamino::node {

class FileMedia final : public Media {
 public:
  // Creates the folder if it is absent. `prefault`: new files are touched at
  // once, see FileRegion::Populate.
  static absl::StatusOr<std::unique_ptr<Media>> Open(
      const std::string& data_dir, engine::PmemMode pmem, bool prefault);

  bool Exists(Part part) const override;
  absl::StatusOr<std::unique_ptr<engine::Region>> Create(Part part,
                                                         size_t bytes) override;
  absl::Status Publish(Part part) override;
  absl::StatusOr<std::unique_ptr<engine::Region>> Open(Part part) override;
  absl::Status Remove(Part part) override;
  std::string Name(Part part) const override;

  // In the folder.
  static absl::string_view FileName(Part part);

 private:
  FileMedia(std::string data_dir, engine::PmemMode pmem, bool prefault)
      : data_dir_(std::move(data_dir)), pmem_(pmem), prefault_(prefault) {}
  std::string Unfinished(Part part) const;

  const std::string data_dir_;
  const engine::PmemMode pmem_;
  const bool prefault_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_FILE_MEDIA_H_
