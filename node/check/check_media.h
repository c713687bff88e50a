// A node's regions, read-only: nothing is stored, and no node can have them
// open meanwhile.
#ifndef KAMINO_NODE_CHECK_CHECK_MEDIA_H_
#define KAMINO_NODE_CHECK_CHECK_MEDIA_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/pmem/region.h"
#include "node/storage/media.h"

namespace kamino::node {

// A view of existing bytes. Their owner keeps them.
class ViewedRegion final : public engine::Region {
 public:
  ViewedRegion(std::byte* base, size_t size) : base_(base), size_(size) {}

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void*, size_t) override {}
  void Drain() override {}
  void CopyFlush(void* to, const void* from, size_t length) override;

 private:
  std::byte* const base_;
  const size_t size_;
};

class CheckMedia {
 public:
  struct Part {
    std::string name;  // "/data/heap.pmem", "/dev/dax0.0:heap"
    // Read only: a store ends the process.
    std::unique_ptr<engine::Region> region;
  };

  // `path`: a node's data folder, or a device with its regions.
  // kFailedPrecondition: a process has it open, or it is neither; says which.
  static absl::StatusOr<std::unique_ptr<CheckMedia>> Open(
      const std::string& path);
  ~CheckMedia();
  CheckMedia(const CheckMedia&) = delete;
  CheckMedia& operator=(const CheckMedia&) = delete;

  // Nothing: there is none.
  const std::optional<Part>& heap() const { return heap_; }
  const std::optional<Part>& ring() const { return ring_; }
  const std::optional<Part>& undo_copy() const { return undo_copy_; }
  // Damage of a device's directory that does not prevent reading it.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  struct Mapping;

  CheckMedia();
  absl::Status OpenFolder(const std::string& path);
  absl::Status OpenDevice(const std::string& path);
  absl::StatusOr<Mapping*> Map(const std::string& path);
  std::optional<Part>* PlaceOf(Media::Part part);

  std::vector<std::unique_ptr<Mapping>> mappings_;
  std::optional<Part> heap_;
  std::optional<Part> ring_;
  std::optional<Part> undo_copy_;
  std::vector<std::string> findings_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_CHECK_CHECK_MEDIA_H_
