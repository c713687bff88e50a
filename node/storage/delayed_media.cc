#include "node/storage/delayed_media.h"

#include <string>
#include <utility>

#include "base/status_macros.h"

namespace kamino::node {
namespace {

using engine::Region;

class DelayedMedia final : public Media {
 public:
  DelayedMedia(std::unique_ptr<Media> below, const engine::PmemDelays& delays)
      : below_(std::move(below)), delays_(delays) {}

  bool Exists(Part part) const override { return below_->Exists(part); }
  absl::StatusOr<std::unique_ptr<Region>> Create(Part part,
                                                 size_t bytes) override {
    return Delayed(below_->Create(part, bytes));
  }
  absl::Status Publish(Part part) override { return below_->Publish(part); }
  absl::StatusOr<std::unique_ptr<Region>> Open(Part part) override {
    return Delayed(below_->Open(part));
  }
  absl::Status Remove(Part part) override { return below_->Remove(part); }
  std::string Name(Part part) const override { return below_->Name(part); }

 private:
  absl::StatusOr<std::unique_ptr<Region>> Delayed(
      absl::StatusOr<std::unique_ptr<Region>> made) const {
    ASSIGN_OR_RETURN(auto region, std::move(made));
    return std::make_unique<engine::DelayRegion>(std::move(region), delays_);
  }

  const std::unique_ptr<Media> below_;
  const engine::PmemDelays delays_;
};

}  // namespace

std::unique_ptr<Media> WithDelays(std::unique_ptr<Media> media,
                                  const engine::PmemDelays& delays) {
  if (!delays.any()) return media;
  return std::make_unique<DelayedMedia>(std::move(media), delays);
}

}  // namespace kamino::node
