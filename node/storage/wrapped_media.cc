#include "node/storage/wrapped_media.h"

#include <string>
#include <utility>

#include "base/status_macros.h"

namespace kamino::node {
namespace {

using engine::Region;

class WrappedMedia final : public Media {
 public:
  WrappedMedia(std::unique_ptr<Media> below, WrapRegion wrap)
      : below_(std::move(below)), wrap_(std::move(wrap)) {}

  bool Exists(Part part) const override { return below_->Exists(part); }
  absl::StatusOr<std::unique_ptr<Region>> Create(Part part,
                                                 size_t bytes) override {
    return Wrapped(below_->Create(part, bytes));
  }
  absl::Status Publish(Part part) override { return below_->Publish(part); }
  absl::StatusOr<std::unique_ptr<Region>> Open(Part part) override {
    return Wrapped(below_->Open(part));
  }
  absl::Status Remove(Part part) override { return below_->Remove(part); }
  std::string Name(Part part) const override { return below_->Name(part); }

 private:
  absl::StatusOr<std::unique_ptr<Region>> Wrapped(
      absl::StatusOr<std::unique_ptr<Region>> made) const {
    ASSIGN_OR_RETURN(auto region, std::move(made));
    return wrap_(std::move(region));
  }

  const std::unique_ptr<Media> below_;
  const WrapRegion wrap_;
};

}  // namespace

std::unique_ptr<Media> WithWrappedRegions(std::unique_ptr<Media> media,
                                          WrapRegion wrap) {
  return std::make_unique<WrappedMedia>(std::move(media), std::move(wrap));
}

}  // namespace kamino::node
